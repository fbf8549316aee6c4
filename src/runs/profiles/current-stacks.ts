import type { Sample } from '../log/columns.ts'
import { numberIn, secondsSince1970 } from '../log/typed-cells.ts'

/** The metric whose rows have the stacks of Python. */
export const PYTHON_METRIC = 'python-profile'

/** The stack of Python in which the main thread of a process was at the last timepoint. */
export interface CurrentStack {
  readonly source: string
  readonly pid: number
  /** The innermost function, with its file and line. */
  readonly line: string
  /** When it was seen, in seconds since 1970; null if the date is not known. */
  readonly at: number | null
  /** When it was seen, in seconds since the first timepoint of the log. */
  readonly seconds: number
  /** The seconds since the timepoint before; null if this is the first one. */
  readonly interval: number | null
}

/** The current stacks of the processes of a run, by log and process id. */
export type CurrentStacks = Map<string, CurrentStack>

/** Adds a row of the stacks now, or of a process that has ended. Ignores other rows. */
export function addCurrentStack(stacks: CurrentStacks, section: string, sample: Sample): void {
  if (sample.metric !== PYTHON_METRIC) return
  const key = `${sample.source} ${sample.pid}`
  if (section === 'process' && sample.state === 'ended') stacks.delete(key)
  if (section !== 'now' || sample.threads !== 'main') return
  const stack = stackIn(sample)
  if (stack !== undefined) stacks.set(key, stack)
}

function stackIn(sample: Sample): CurrentStack | undefined {
  const { source, pid, stack, seconds } = sample
  if (typeof stack !== 'string' || typeof pid !== 'number') return undefined
  return {
    source: source ?? '',
    pid,
    line: stack.slice(stack.lastIndexOf(';') + 1),
    at: secondsSince1970(sample),
    seconds,
    interval: numberIn(sample.interval),
  }
}

/** Returns a function that finds the current stack of a process of a pod. */
export function findStacks(
  stacks: CurrentStacks,
  podOf: (source: string) => string,
): (pod: string, pid: number | null) => CurrentStack | undefined {
  const keyOf = (pod: string, pid: number | null) => JSON.stringify([pod, pid])
  const byPod = new Map([...stacks.values()].map((one) => [keyOf(podOf(one.source), one.pid), one]))
  return (pod, pid) => byPod.get(keyOf(pod, pid))
}
