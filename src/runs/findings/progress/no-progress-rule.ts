import { maximum } from '../../../lib/statistics.ts'
import { plot, type SectionColumns } from '../../evidence/evidence.ts'
import type { RankEvidence, RunEvidence } from '../../evidence/run-evidence.ts'
import type { EndedContainer } from '../../log/entry.ts'
import { mpiJobs } from '../../metrics/mpi-trace/mpi-job.ts'
import { MPI_METRIC } from '../../metrics/mpi-trace/mpi-run.ts'
import {
  type AbsentProcess,
  findStuckProcesses,
  type StuckProcesses,
} from '../../metrics/mpi-trace/stuck-processes.ts'
import {
  findStuckStart,
  type StuckStart,
  startingJobs,
} from '../../metrics/mpi-trace/stuck-start.ts'
import { NCCL_METRIC } from '../../metrics/nccl-ras/nccl-run.ts'
import { ncclRanks, type StuckRanks } from '../../metrics/nccl-ras/stuck-ranks.ts'
import { PYTHON_METRIC } from '../../metrics/python-profile/current-stacks.ts'
import {
  findStuckPython,
  pythonProcesses,
  type StuckPython,
} from '../../metrics/python-profile/stuck-python.ts'
import {
  type Affected,
  defineRule,
  EXPLAINS_IDLE,
  type ExplainedRules,
  type FactUnits,
  listFacts,
} from '../rule.ts'
import { describeStuck } from './no-progress-text.ts'
import { causeOfPython, countedPython, pythonOfPods } from './python-progress.ts'
import { describePython } from './python-text.ts'
import { causeOfRanks, countedRanks, ranksOfPods } from './ranks-progress.ts'
import { describeRanks } from './ranks-text.ts'
import { countedStart, MIN_STARTING, startsOfPods } from './start-progress.ts'
import { describeStart } from './start-text.ts'

/** The seconds after which a process that sleeps, or waits for storage, and is quiet, is late. */
const MIN_ASLEEP = 10
/** The seconds after which any other process that does not come is named. */
const MIN_AWAY = 60
/** The times the longest gap between collective calls after which a computing process is named. */
const MIN_GAPS = 10

const OPEN = {
  metric: MPI_METRIC,
  section: 'open',
  columns: ['elapsed'],
} as const satisfies SectionColumns

const RANK = {
  metric: MPI_METRIC,
  section: 'rank',
  columns: ['calls'],
} as const satisfies SectionColumns

const START = {
  metric: MPI_METRIC,
  section: 'start',
  columns: ['waited'],
} as const satisfies SectionColumns

const PROCESS = {
  metric: NCCL_METRIC,
  section: 'process',
  columns: ['cpu_time'],
} as const satisfies SectionColumns

const PYTHON = {
  metric: PYTHON_METRIC,
  section: 'process',
  columns: ['main_seconds'],
} as const satisfies SectionColumns

const FACTS = {
  'time in the call': 's',
  'processes that wait': 'count',
  'processes that have not come': 'count',
  'longest time between collective calls': 's',
  'time without a launched operation': 's',
  'ranks of NCCL that wait': 'count',
  'ranks of NCCL that have not come': 'count',
  'time in the line': 's',
  'longest time in a line before': 's',
} as const satisfies FactUnits

const EXPLAINS_WAITING = {
  rules: ['much-time-in-mpi', 'waiting-in-collectives', 'waiting-in-point-to-point'],
  of: 'any rank',
  because: 'the processes wait in a call of MPI that does not end',
} as const satisfies ExplainedRules

/**
 * Processes of an MPI job, ranks of NCCL, or processes of Python, that make no progress, because
 * they wait for each other, or because one does not come. For the comparison, see
 * `findStuckProcesses`, `findStuckRanks` and `findStuckPython`. Only the last calls and stacks that
 * the rows show count, so a job that goes on has no finding.
 */
export const NO_PROGRESS = defineRule({
  name: 'no-progress',
  title: 'No progress',
  severity: 'failure',
  isOptional: true,
  needs: [
    [{ ...OPEN, isTotal: true }],
    [{ ...START, isTotal: true }],
    [{ ...PROCESS, isTotal: true }],
    [{ ...PYTHON, isTotal: true }],
  ],
  threshold: {
    value: MIN_ASLEEP,
    unit: 's',
    condition:
      'processes are in the same call of MPI at two timepoints, and wait for each other, are in ' +
      'different collective calls of a communicator, or wait for a process that has ended or was ' +
      'stopped. Or they wait for at least 10 s for a process that sleeps or waits for storage, ' +
      'and has not used a processor for 10 s; or for any other process, for at least 60 s and ' +
      'ten times the longest time between two collective calls of the run. For a process that ' +
      'has begun no collective call, they wait for at least 5 min. Or they wait in MPI_Init ' +
      'for a process that has ended or was stopped, or for at least 5 min. Ranks of NCCL wait if ' +
      'in the answers of NCCL nothing has changed for at least 60 s and ten times the longest ' +
      'such time before (5 min for a rank that has launched nothing), and a rank has launched ' +
      'fewer operations than another one, or its process does not answer. Processes of Python ' +
      'wait if their main threads are in a call of PyTorch in which ranks wait for each other, ' +
      'and another process of the program is not, or in its data loader, and one of its ' +
      'processes loads a batch, and the stacks have not changed for at least 60 s (5 min for a ' +
      'job that begins) and ten times the longest such time before',
    source:
      'the order of collective calls: MPI 4.0, 6.14; the late rank: STAT and the Flight Recorder ' +
      'of PyTorch; the ranks that do not answer: NCCL; the calls of Python: the sources of ' +
      'PyTorch; the numbers: Ridealong',
  },
  find: findStuck,
  isWholeText: true,
  sentence: ({ stuck }) => (stuck === undefined ? '' : describe(stuck)),
  facts: FACTS,
  reads: [OPEN, RANK, START, PROCESS, PYTHON],
  explains: [EXPLAINS_WAITING, EXPLAINS_IDLE],
  advice:
    'Look at the rank that has not come: its log, its stack, and other findings about it. If ' +
    'ranks wait for each other, compare the order of their calls: blocking sends in a circle ' +
    'need MPI_Sendrecv or MPI_Isend, and all members of a communicator must make its collective ' +
    'calls in the same order. A job that makes no progress still uses its processors: end it.',
  plots: [plot(RANK, 'calls')],
})

type StuckRank = Affected<keyof typeof FACTS>

function findStuck({ view, ranks }: RunEvidence): readonly StuckRank[] {
  const read = new Set(ranks.map(({ rank }) => rank))
  const found = view(mpiJobs).flatMap((job) => findStuckProcesses(job).flatMap(countedIn))
  const starts = view(startingJobs).flatMap((job) => findStuckStart(job).flatMap(countedStart))
  const waiting = view(ncclRanks)
    .flatMap(countedRanks)
    .filter((stuck) => !hasSucceeded(stuck, ranks))
  const failed = new Set(ranks.filter(hasFailed).map(({ rank }) => rank))
  const lines = findStuckPython(view(pythonProcesses), (pod) => failed.has(pod)).flatMap(
    countedPython,
  )
  const all = [
    ...starts.flatMap(affectedByStart),
    ...found.flatMap(affectedBy),
    ...waiting.flatMap(affectedByRanks),
    ...lines.flatMap(affectedByPython),
  ]
  return all.filter(({ rank }) => read.has(rank))
}

function describe(stuck: StuckProcesses | StuckStart | StuckRanks | StuckPython): string {
  switch (stuck.why) {
    case 'start':
      return describeStart(stuck)
    case 'nccl-late':
    case 'nccl-mismatch':
      return describeRanks(stuck)
    case 'python-late':
    case 'python-loader':
      return describePython(stuck)
    default:
      return describeStuck(stuck)
  }
}

/**
 * Reports whether the containers of the processes of the pod that has asked have ended without an
 * error after its last answer. The job then went on. Other containers, such as one that fetches
 * data, end earlier. If no process is known, all containers count.
 */
function hasSucceeded(stuck: StuckRanks, ranks: readonly RankEvidence[]): boolean {
  const { askingPod, askingContainers } = stuck
  const ended = ranks.filter(({ rank }) => rank === askingPod).flatMap(lastEnds)
  const ends = new Map(ended.map(({ container, exitCode }) => [container, exitCode]))
  const containers = askingContainers.length === 0 ? [...ends.keys()] : askingContainers
  return containers.length > 0 && containers.every((container) => ends.get(container) === 0)
}

function hasFailed(rank: RankEvidence): boolean {
  return lastEnds(rank).some(({ exitCode }) => exitCode !== 0)
}

/** Returns the containers that ended and were not started again. */
function lastEnds({ ended }: RankEvidence): readonly EndedContainer[] {
  return (ended ?? []).filter(({ restarted }) => !restarted)
}

/**
 * Returns the processes that make no progress, if that counts, with the late processes that count.
 * `top` uses the same thresholds.
 */
export function countedIn(stuck: StuckProcesses): readonly StuckProcesses[] {
  const { why, waiting, longestGap } = stuck
  const longest = maximum(waiting.map(({ waited }) => waited)) ?? 0
  switch (why) {
    case 'deadlock':
    case 'mismatch':
      return [stuck]
    case 'unrecorded': {
      const isStart = waiting.every(({ thread }) => thread.number === 1)
      return longest >= patienceFor(longestGap, !isStart) ? [stuck] : []
    }
    case 'late': {
      const late = stuck.late.filter((one) => counts(one, longest, longestGap))
      return late.length === 0 ? [] : [{ ...stuck, late }]
    }
  }
}

/**
 * Returns the seconds after which a process is named that may still come.
 *
 * @param hasBegun whether it has begun a collective call
 */
function patienceFor(longestGap: number, hasBegun: boolean): number {
  return Math.max(hasBegun ? MIN_AWAY : MIN_STARTING, MIN_GAPS * longestGap)
}

function counts(
  { activity, away, quiet, hasBegun }: AbsentProcess,
  waited: number,
  longestGap: number,
): boolean {
  const both = Math.min(away, waited)
  // A process that reads or writes uses a processor now and then.
  const isAsleep = hasBegun && quiet >= MIN_ASLEEP
  const patience = patienceFor(longestGap, hasBegun)
  switch (activity.is) {
    case 'ended':
    case 'stopped':
      return true
    case 'sleeping':
    case 'storage':
      return both >= (isAsleep ? MIN_ASLEEP : patience)
    case 'computing':
    case 'waiting':
      return both >= patience
  }
}

/** Makes a finding of each pod with a process that waits or is late. */
function affectedBy(stuck: StuckProcesses): readonly StuckRank[] {
  const { waiting, late, longestGap } = stuck
  const pods = new Set([...late, ...waiting].map(({ process }) => process.pod))
  const cause = JSON.stringify([stuck.why, ...late.map(({ process }) => process.rank)])
  return [...pods].map((rank) => {
    const own = waiting.filter(({ process }) => process.pod === rank)
    const absent = late.filter(({ process }) => process.pod === rank)
    const lost = maximum(own.map(({ waited }) => waited))
    return {
      rank,
      things: [...absent, ...own].map(({ process }) => `MPI rank ${process.rank}`),
      lost,
      cause: `${cause} ${waiting[0]?.process.source} ${waiting[0]?.process.rank}`,
      stuck,
      facts: listFacts(FACTS, {
        'time in the call': lost,
        'processes that wait': own.length,
        'processes that have not come': absent.length,
        'longest time between collective calls': longestGap > 0 ? longestGap : null,
      }),
    }
  })
}

function affectedByStart(stuck: StuckStart): readonly StuckRank[] {
  return startsOfPods(stuck).map(({ pod, things, lost, waiting, late }) => ({
    rank: pod,
    things,
    lost,
    cause: JSON.stringify(['start', stuck.waiting[0]?.job, stuck.waiting[0]?.size]),
    stuck,
    facts: listFacts(FACTS, {
      'time in the call': lost,
      'processes that wait': waiting,
      'processes that have not come': late,
    }),
  }))
}

function affectedByRanks(stuck: StuckRanks): readonly StuckRank[] {
  const { longestGap } = stuck.answer
  return ranksOfPods(stuck).map(({ pod, things, lost, waiting, late }) => ({
    rank: pod,
    things,
    lost,
    cause: causeOfRanks(stuck),
    stuck,
    facts: listFacts(FACTS, {
      'time without a launched operation': stuck.waited,
      'ranks of NCCL that wait': waiting,
      'ranks of NCCL that have not come': late,
      'longest time between collective calls': longestGap > 0 ? longestGap : null,
    }),
  }))
}

function affectedByPython(stuck: StuckPython): readonly StuckRank[] {
  const { longestGap } = stuck
  return pythonOfPods(stuck).map(({ pod, things, lost, waiting, late }) => ({
    rank: pod,
    things,
    lost,
    cause: causeOfPython(stuck),
    stuck,
    facts: listFacts(FACTS, {
      'time in the line': lost,
      'processes that wait': waiting,
      'processes that have not come': late,
      'longest time in a line before': longestGap > 0 ? longestGap : null,
    }),
  }))
}
