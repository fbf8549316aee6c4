import type { Sample } from '../../log/columns.ts'
import { countIn, numberIn, secondsSince1970, textIn } from '../../log/typed-cells.ts'
import { isBeginning } from '../../profiles/python-waits.ts'

/** The metric whose rows have the stacks of Python. */
export const PYTHON_METRIC = 'python-profile'

/** The sections whose rows say where the main threads of processes are. */
export const STACK_SECTIONS: ReadonlySet<string> = new Set(['now', 'process'])

/** The stack of Python in which the main thread of a process was at the last timepoint. */
export interface CurrentStack {
  readonly source: string
  readonly container: string | null
  readonly program: string | null
  readonly pid: number
  /** The functions with their files and lines, the outermost first. */
  readonly frames: readonly string[]
  /** The innermost function, with its file and line. */
  readonly line: string
  /** Whether the thread was running, or waited for a processor; null if that is not known. */
  readonly isRunning: boolean | null
  /** The seconds for which the samples have found this stack, line by line. */
  readonly unchanged: number
  /**
   * The longest time for which a row has found an earlier stack unchanged, in seconds, apart from
   * those in which a rank waits for the beginning of its job.
   */
  readonly longestGap: number
  /** When the first row of the process and this one were written, in seconds since 1970. */
  readonly firstAt: number | null
  readonly at: number | null
  /** When it was seen, in seconds since the first timepoint of the log. */
  readonly seconds: number
  /** The seconds since the timepoint before; null if this is the first one. */
  readonly interval: number | null
  /** When its end was seen, in seconds since 1970; null if it runs, or if that is not known. */
  readonly endedAt: number | null
  readonly hasEnded: boolean
}

/** The current stacks of the processes of a run, by log and process id. */
export type CurrentStacks = Map<string, CurrentStack>

/** The most processes of which those that have ended are kept as well. */
const MAX_PROCESSES = 10_000

/** Adds a row of the stacks now, or of a process that has ended. Ignores other rows. */
export function addCurrentStack(stacks: CurrentStacks, section: string, sample: Sample): void {
  if (sample.metric !== PYTHON_METRIC) return
  const key = `${sample.source} ${sample.pid}`
  if (section === 'process' && sample.state === 'ended') addEnd(stacks, key, sample)
  if (section !== 'now' || sample.threads !== 'main') return
  const stack = stackIn(sample, stacks.get(key))
  if (stack !== undefined) stacks.set(key, stack)
}

function addEnd(stacks: CurrentStacks, key: string, sample: Sample): void {
  const known = stacks.get(key)
  if (known === undefined) return
  if (stacks.size > MAX_PROCESSES) stacks.delete(key)
  else stacks.set(key, { ...known, hasEnded: true, endedAt: secondsSince1970(sample) })
}

/** @param last the stack in the row before with this process id */
function stackIn(sample: Sample, last: CurrentStack | undefined): CurrentStack | undefined {
  const { source, pid, stack, seconds } = sample
  if (typeof stack !== 'string' || typeof pid !== 'number') return undefined
  const before = last?.hasEnded === true ? undefined : last
  const at = secondsSince1970(sample)
  const unchanged = countIn(sample.unchanged)
  const frames = stack.split(';')
  return {
    source: source ?? '',
    container: textIn(sample.container),
    program: textIn(sample.program),
    pid,
    frames,
    line: frames.at(-1) ?? '',
    isRunning: sample.activity === null ? null : sample.activity === 'running',
    unchanged,
    longestGap: longestGapUntil(before, unchanged),
    firstAt: before === undefined ? at : before.firstAt,
    at,
    seconds,
    interval: before === undefined ? numberIn(sample.interval) : seconds - before.seconds,
    hasEnded: false,
    endedAt: null,
  }
}

/** The time of a stack that has changed since the row before counts. */
function longestGapUntil(before: CurrentStack | undefined, unchanged: number): number {
  if (before === undefined) return 0
  const { longestGap } = before
  const hasChanged = unchanged < before.unchanged && !isBeginning(before)
  return hasChanged ? Math.max(longestGap, before.unchanged) : longestGap
}

/** A process of Python, in its pod. */
export interface PythonProcess extends CurrentStack {
  /** The rank that reports show for the pod of the process. */
  readonly pod: string
}

/** Returns the processes of a run. Of copies of a log, only the last one counts. */
export function joinStacks(
  stacks: CurrentStacks,
  podOf: (source: string) => string,
): readonly PythonProcess[] {
  const all = [...stacks.values()].map((stack) => ({ ...stack, pod: podOf(stack.source) }))
  return [...new Map(all.map((one) => [keyOf(one.pod, one.pid), one])).values()]
}

/** Returns a function that finds the current stack of a process of a pod that has not ended. */
export function findStacks(
  processes: readonly PythonProcess[],
): (pod: string, pid: number | null) => CurrentStack | undefined {
  const running = processes.filter(({ hasEnded }) => !hasEnded)
  const byPod = new Map(running.map((one) => [keyOf(one.pod, one.pid), one]))
  return (pod, pid) => byPod.get(keyOf(pod, pid))
}

function keyOf(pod: string, pid: number | null): string {
  return JSON.stringify([pod, pid])
}
