import { type MetricStore, ofLogs } from '../../evidence/stores.ts'
import type { Sample } from '../../log/columns.ts'
import { countIn, numberIn, secondsSince1970, textIn } from '../../log/typed-cells.ts'

/** The metric whose rows describe the answers of NCCL's RAS service. */
export const NCCL_METRIC = 'nccl-ras'

/** The ranks of NCCL in the logs of a run. */
export interface NcclRun {
  /** The last answer in each log; a log whose last request was not answered has none. */
  readonly answers: Map<string, NcclAnswer>
  /** The processes of the pods, by log and process id. */
  readonly processes: Map<string, NcclProcess>
}

/** An answer of the service, which is about the whole job. All times are in seconds. */
export interface NcclAnswer {
  readonly source: string
  readonly timepoint: number
  /** When it was written, in seconds since 1970; null if the date is not known. */
  readonly at: number | null
  /** When it was written, in seconds since the first timepoint of the log. */
  readonly seconds: number
  /** Whether the service is that of the node, so that the answer can be about another job. */
  readonly isOfNode: boolean
  /** The number of ranks, of all communicators, whose processes are in the pod that has asked. */
  readonly ownRanks: number
  /** The time for which nothing has changed in the answers; null if it is not known. */
  readonly unchanged: number | null
  /** The longest such time before, after which something has changed. */
  readonly longestGap: number
  readonly communicators: NcclCommunicator[]
  readonly ranks: NcclRank[]
}

export interface NcclCommunicator {
  readonly name: string
  /** The number of ranks; null if it is not known. */
  readonly size: number | null
  readonly missing: number
  readonly behind: number
  /** The ranks that have launched all operations; null if their number is not known. */
  readonly ahead: number | null
  /** The operation in which most ranks are behind. */
  readonly operation: string | null
  /** The most calls of this operation that a rank has launched. */
  readonly launched: number | null
}

/** A rank of a communicator. */
export interface NcclRank {
  readonly communicator: string
  readonly rank: number
  readonly host: string | null
  readonly pid: number | null
  /** Its state, as the column of the rows has it. */
  readonly state: string | null
  readonly launched: number | null
  readonly operation: string | null
  /** How many calls it has launched fewer than others; null if that is not known. */
  readonly behind: number | null
  readonly unchanged: number | null
}

/** A process of a pod. */
export interface NcclProcess {
  readonly source: string
  readonly container: string | null
  readonly program: string | null
  readonly pid: number
  readonly worldRank: number | null
  /** The addresses of the pod. */
  readonly addresses: readonly string[]
  /** When it was seen, in seconds since 1970; null if the date is not known. */
  readonly at: number | null
  readonly seconds: number
  /** The seconds since its row before; null if this is the first one. */
  readonly interval: number | null
  /** The state of the process: running, sleeping, disk, stopped or ended. */
  readonly state: string | null
  /** The number of consecutive timepoints with this state. */
  readonly stateSamples: number
  readonly cpuTime: number | null
  /** The processors that it used since the timepoint before; null if not known. */
  readonly cpu: number | null
}

/** Keeps the facts from the rows of nccl-ras. */
export const NCCL_STORE: MetricStore<NcclRun> = {
  metric: NCCL_METRIC,
  create: newNcclRun,
  add: addNcclRow,
  keepLogs: ({ answers, processes }, isKept) => {
    return { answers: ofLogs(answers, isKept), processes: ofLogs(processes, isKept) }
  },
  join: (runs) => ({
    answers: new Map(runs.flatMap(({ answers }) => [...answers])),
    processes: new Map(runs.flatMap(({ processes }) => [...processes])),
  }),
  forgetEnded: (run, last) => {
    if (run.processes.size < MANY_PROCESSES) return run
    return {
      ...run,
      processes: new Map([...run.processes].filter(([, one]) => one.seconds >= last)),
    }
  },
}

/** The number of processes from which those that have ended are forgotten while a log grows. */
const MANY_PROCESSES = 256

export function newNcclRun(): NcclRun {
  return { answers: new Map(), processes: new Map() }
}

/** The most processes that are kept. An observer writes at most 64 for a pod. */
const MAX_PROCESSES = 100_000

/** Adds a row of the metric nccl-ras. */
export function addNcclRow(run: NcclRun, section: string, sample: Sample): void {
  const answer = run.answers.get(sample.source ?? '')
  const isOfAnswer = answer?.timepoint === sample.timepoint
  switch (section) {
    case 'service':
      addRequest(run, sample)
      return
    case 'process':
      addProcess(run, sample)
      return
    case 'communicator':
      if (isOfAnswer) answer.communicators.push(communicatorIn(sample))
      return
    case 'rank':
      if (isOfAnswer) answer.ranks.push(rankIn(sample))
      return
    default:
      return
  }
}

function addRequest({ answers }: NcclRun, sample: Sample): void {
  const source = sample.source ?? ''
  if (sample.state !== 'answered') answers.delete(source)
  else
    answers.set(source, {
      source,
      timepoint: sample.timepoint,
      at: secondsSince1970(sample),
      seconds: sample.seconds,
      isOfNode: sample.scope === 'node',
      ownRanks: countIn(sample.own_ranks),
      unchanged: numberIn(sample.without_change),
      longestGap: countIn(sample.longest_gap),
      communicators: [],
      ranks: [],
    })
}

function communicatorIn(sample: Sample): NcclCommunicator {
  return {
    name: textIn(sample.communicator) ?? '',
    size: numberIn(sample.size),
    missing: countIn(sample.ranks_missing),
    behind: countIn(sample.ranks_behind),
    ahead: numberIn(sample.ranks_ahead),
    operation: textIn(sample.operation),
    launched: numberIn(sample.launched),
  }
}

function rankIn(sample: Sample): NcclRank {
  return {
    communicator: textIn(sample.communicator) ?? '',
    rank: countIn(sample.nccl_rank),
    host: textIn(sample.host),
    pid: numberIn(sample.nccl_pid),
    state: textIn(sample.state),
    launched: numberIn(sample.launched),
    operation: textIn(sample.operation),
    behind: numberIn(sample.behind),
    unchanged: numberIn(sample.without_change),
  }
}

function addProcess({ processes }: NcclRun, sample: Sample): void {
  const key = JSON.stringify([sample.source, sample.pid])
  const before = processes.get(key)
  if (before === undefined && processes.size >= MAX_PROCESSES) return
  processes.set(key, processIn(sample, before))
}

function processIn(sample: Sample, before: NcclProcess | undefined): NcclProcess {
  const state = textIn(sample.process_state)
  const now = { cpuTime: numberIn(sample.cpu_time), seconds: sample.seconds }
  return {
    source: sample.source ?? '',
    container: textIn(sample.container),
    program: textIn(sample.program),
    pid: countIn(sample.pid),
    worldRank: numberIn(sample.world_rank),
    addresses: (textIn(sample.addresses) ?? '').split(' ').filter((one) => one !== ''),
    at: secondsSince1970(sample),
    state,
    stateSamples: before?.state === state ? before.stateSamples + 1 : 1,
    ...now,
    ...(before === undefined ? { interval: null, cpu: null } : changeSince(before, now)),
  }
}

function changeSince(
  before: NcclProcess,
  { cpuTime, seconds }: Pick<NcclProcess, 'cpuTime' | 'seconds'>,
): Pick<NcclProcess, 'interval' | 'cpu'> {
  const interval = seconds - before.seconds
  const isKnown = cpuTime !== null && before.cpuTime !== null && interval > 0
  return { interval, cpu: isKnown ? (cpuTime - before.cpuTime) / interval : null }
}
