import { findFrames } from './frame-tree.ts'
import {
  FUNCTION_FIELDS,
  type ProfiledFunction,
  type ProfileKind,
  type ProgramProfile,
  stacksIn,
} from './profile-run.ts'

/** The functions of one program, with the times of each pod. */
export interface ProfileByPod {
  readonly program: string
  /** The name of the program, without the kind. */
  readonly executable: string
  readonly kind: ProfileKind
  /** The pods with a profile of the program. */
  readonly pods: readonly string[]
  /** For each pod, the time of all functions, in seconds. */
  readonly seconds: readonly number[]
  /** For each pod, the number of its processes that have a time. */
  readonly processes: readonly number[]
  /** For each pod, the processes whose profile is incomplete or missing. */
  readonly incomplete: readonly (readonly string[])[]
  readonly functions: readonly FunctionByPod[]
  /** Returns for each pod the seconds of the stacks with a function whose name matches. */
  readonly secondsThrough: (name: RegExp) => readonly number[]
}

/** A function, with the times of the pods that have a row about it. */
export interface FunctionByPod extends ProfiledFunction {
  /** The times by the index of the pod. */
  readonly times: ReadonlyMap<number, FunctionTime>
}

export interface FunctionTime {
  /** The time in the function itself, in seconds. */
  readonly self: number
  /** The time in the function and in the functions that it called; null if it is not known. */
  readonly total: number | null
  /** The samples in the function itself; 0 if they are not known. */
  readonly samples: number
}

/** Adds up the profiles of a program by pod. @param podOf returns the pod of a log */
export function profileByPod(
  profile: ProgramProfile,
  podOf: (source: string) => string,
): ProfileByPod {
  const { program, executable, kind, functions, logs } = profile
  const pods = [...new Set([...logs.keys()].map(podOf))]
  const places = new Map(pods.map((pod, index) => [pod, index]))
  const times = functions.map(() => new Map<number, FunctionTime>())
  const seconds = pods.map(() => 0)
  const processes = pods.map(() => 0)
  const incomplete = pods.map((): string[] => [])
  for (const [source, log] of logs) {
    const place = places.get(podOf(source)) ?? 0
    incomplete[place]?.push(...log.incomplete)
    const pids = new Set<number>()
    for (const [pid, number, time] of timesIn(log.functions)) {
      pids.add(pid)
      seconds[place] = (seconds[place] ?? 0) + time.self
      const own = times[number]
      own?.set(place, plus(own.get(place), time))
    }
    processes[place] = (processes[place] ?? 0) + pids.size
  }
  const found = functions.map((one, index) => ({ ...one, times: times[index] ?? new Map() }))
  const secondsThrough = (name: RegExp) => sumStacks(profile, name, (log) => places.get(podOf(log)))
  return {
    program,
    executable,
    kind,
    pods,
    seconds,
    processes,
    incomplete,
    functions: found,
    secondsThrough,
  }
}

/**
 * Divides the times of each pod by the number of its processes. The sum of several processes can
 * exceed the length of the run, and depends on their number.
 */
export function perProcess(profile: ProfileByPod): ProfileByPod {
  const { processes, seconds, functions, secondsThrough } = profile
  const mean = (sum: number, index: number) => sum / Math.max(processes[index] ?? 0, 1)
  return {
    ...profile,
    seconds: seconds.map(mean),
    functions: functions.map(({ times, ...one }) => {
      const means = [...times].map(([index, { self, total, samples }]) => {
        const own = { self: mean(self, index), total: total === null ? null : mean(total, index) }
        return [index, { ...own, samples }] as const
      })
      return { ...one, times: new Map(means) }
    }),
    secondsThrough: (name) => secondsThrough(name).map(mean),
  }
}

/** Sums the seconds of the stacks with a function whose name matches, by the place of a log. */
function sumStacks(
  { tree, logs }: ProgramProfile,
  name: RegExp,
  placeOf: (log: string) => number | undefined,
): readonly number[] {
  const isIn = findFrames(tree, name)
  const sums: number[] = []
  for (const [log, own] of logs) {
    const place = placeOf(log) ?? 0
    for (const [, frame, seconds] of stacksIn(own))
      if (isIn[frame] === true) sums[place] = (sums[place] ?? 0) + seconds
  }
  return sums
}

/** Yields a process id, the number of a function, and its time. */
function* timesIn(fields: readonly number[]): Generator<readonly [number, number, FunctionTime]> {
  for (let at = 0; at < fields.length; at += FUNCTION_FIELDS) {
    const [pid = 0, number = 0, self = 0, total = Number.NaN, samples = 0] = fields.slice(
      at,
      at + FUNCTION_FIELDS,
    )
    const known = Number.isNaN(total) ? null : total
    yield [pid, number, { self, total: known, samples }]
  }
}

function plus(before: FunctionTime | undefined, time: FunctionTime): FunctionTime {
  if (before === undefined) return time
  const { self, total, samples } = time
  const isKnown = before.total !== null && total !== null
  return {
    self: before.self + self,
    total: isKnown ? before.total + total : null,
    samples: before.samples + samples,
  }
}
