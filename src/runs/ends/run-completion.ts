import type { RunFinding } from '../findings/evaluate.ts'
import type { LogEntry } from '../log/entry.ts'
import { END_MISSING } from '../log/run.ts'
import type { ProgramEnd } from '../rules/program-end.ts'
import type { PodEnd } from './pod-ends.ts'

/** Whether a run came to its end. */
export interface RunCompletion {
  readonly state: 'finished' | 'unfinished' | 'unknown'
  /** Why it did not, or why that is not known, in sentences; null if the run finished. */
  readonly reason: string | null
}

/** A log of an observer, which has one for each start of its container. */
interface RunOfObserver {
  readonly log: string
  readonly observer: string
  /** The number of the start, from 1. */
  readonly run: number
  /** The entry at its end; undefined if that was not read. */
  readonly source: { readonly log: LogEntry | undefined }
}

/** What is known about the end of a run. */
export interface EndFacts {
  readonly pods: readonly PodEnd[]
  /** What the rows of metrics say about the end of the program. */
  readonly programs: readonly ProgramEnd[]
  readonly logs: ReadonlyMap<string, RunOfObserver>
  readonly findings: readonly RunFinding[]
}

/** A sign that a run did not finish. */
interface EndRule {
  readonly condition: string
  /** Returns what was seen, in a sentence; undefined if it was not. */
  readonly find: (facts: EndFacts) => string | undefined
}

/** The signs that a run did not finish. The first one that was seen is named. */
export const END_RULES = [
  {
    condition:
      'a container failed, was stopped with its pod, or still ran, unless another pod of the ' +
      'same index replaced the pod and succeeded. A worker may be stopped or still run if its ' +
      'launcher succeeded',
    find: ({ pods, findings }) => {
      const [first] = unfinishedPods(pods)
      if (first === undefined) return undefined
      const failure = failureIn(findings)
      return first.state === 'failed'
        ? (failure ?? first.sentence)
        : joined(first.sentence, failure)
    },
  },
  {
    condition:
      'a process of MPI has called `MPI_Init` and not `MPI_Finalize`, unless a pod or a ' +
      'container was started again and succeeded',
    find: ({ pods, programs, findings }) => {
      if (isRetried(pods)) return undefined
      const open = programs.find((one) => one.state === 'unfinished')
      return open && joined(open.reason, failureIn(findings) ?? open.first ?? undefined)
    },
  },
  {
    condition: 'the status of the pods is not known, and a finding says that the run failed',
    find: ({ pods, findings }) => (hasSucceeded(pods) ? undefined : failureIn(findings)),
  },
  {
    condition: 'a log lacks its end',
    find: describeCutLogs,
  },
] as const satisfies readonly EndRule[]

const NOT_KNOWN =
  'Only the output of collect, or the calls of a program of MPI, say whether a run finished.'

/** Returns whether a run came to its end. */
export function readCompletion(facts: EndFacts): RunCompletion {
  for (const { find } of END_RULES) {
    const reason = find(facts)
    if (reason !== undefined) return { state: 'unfinished', reason }
  }
  const isKnown = hasSucceeded(facts.pods) || facts.programs.length > 0
  return isKnown ? { state: 'finished', reason: null } : { state: 'unknown', reason: NOT_KNOWN }
}

function joined(sentence: string, more: string | undefined): string {
  return more === undefined ? sentence : `${sentence} ${more}`
}

function failureIn(findings: readonly RunFinding[]): string | undefined {
  return findings.find(({ severity }) => severity === 'failure')?.sentence
}

/** The states of pods that did not finish, the worst first. */
const UNFINISHED: readonly PodEnd['state'][] = ['failed', 'stopped', 'running']

function unfinishedPods(pods: readonly PodEnd[]): readonly PodEnd[] {
  const place = ({ state }: PodEnd) => UNFINISHED.indexOf(state)
  return pods
    .filter((pod) => place(pod) >= 0 && !isReplaced(pod, pods) && !isHelper(pod, pods))
    .sort((a, b) => place(a) - place(b))
}

/** Reports whether another pod took the place of a pod after its end, and succeeded. */
function isReplaced({ index, ended }: PodEnd, pods: readonly PodEnd[]): boolean {
  return pods.some((one) => one.index === index && one.state === 'succeeded' && one.began >= ended)
}

/** Reports whether a pod only served a pod of another role that succeeded, such as a launcher. */
function isHelper({ role, state }: PodEnd, pods: readonly PodEnd[]): boolean {
  return state !== 'failed' && pods.some((one) => one.role !== role && one.state === 'succeeded')
}

/** Reports whether the status of the pods says that the application succeeded. */
function hasSucceeded(pods: readonly PodEnd[]): boolean {
  return (
    pods.some(({ state }) => state === 'succeeded') &&
    pods.every(({ state }) => state !== 'unknown') &&
    unfinishedPods(pods).length === 0
  )
}

/** Reports whether the application succeeded after a pod or a container was started again. */
function isRetried(pods: readonly PodEnd[]): boolean {
  return hasSucceeded(pods) && pods.some((pod) => pod.isRestarted || isReplaced(pod, pods))
}

/**
 * Returns the logs that lack their ends. Of an observer that was started again, only the last log
 * counts. The observer of a pod that served another one, such as a launcher, may still run.
 */
export function cutLogs({ pods, logs }: Pick<EndFacts, 'pods' | 'logs'>): readonly RunOfObserver[] {
  const isServing = new Set(
    pods.flatMap((pod) => (pod.state === 'running' && isHelper(pod, pods) ? pod.logs : [])),
  )
  const lastRun = new Map<string, number>()
  for (const { observer, run } of logs.values())
    lastRun.set(observer, Math.max(run, lastRun.get(observer) ?? 0))
  return [...logs.values()].filter(({ log, observer, run, source }) => {
    const isLast = lastRun.get(observer) === run && !isServing.has(log)
    return isLast && (source.log === undefined || source.log.cuts.includes(END_MISSING))
  })
}

function describeCutLogs(facts: EndFacts): string | undefined {
  const cut = cutLogs(facts)
  const [first] = cut
  if (first === undefined) return undefined
  if (cut.length === 1) return `The end of the log ${first.log} is missing.`
  const others = cut.length === 2 ? 'one other log' : `${cut.length - 1} other logs`
  return `The ends of the log ${first.log} and of ${others} are missing.`
}
