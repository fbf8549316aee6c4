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
   * those in which a process waits for the beginning of its job.
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

/** A process of Python, in its pod. */
export interface PythonProcess extends CurrentStack {
  /** The pod of the process, as reports name it. */
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
