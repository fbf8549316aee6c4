import type { FrameTree } from './frame-tree.ts'
import {
  FUNCTION_FIELDS,
  type ProfiledFunction,
  type ProfileKind,
  type ProgramProfile,
} from './profile-run.ts'

/** The functions of one program, with the times of each rank. In a report, a rank is a pod. */
export interface RankedProfile {
  readonly program: string
  /** The name of the program, without the kind. */
  readonly executable: string
  readonly kind: ProfileKind
  /** The ranks with a profile of the program. */
  readonly ranks: readonly string[]
  /** For each rank, the time of all functions, in seconds. */
  readonly seconds: readonly number[]
  /** For each rank, the processes whose profile is incomplete or missing. */
  readonly incomplete: readonly (readonly string[])[]
  readonly functions: readonly RankedFunction[]
  /** Returns for each rank the seconds of the stacks with a function whose name matches. */
  readonly secondsThrough: (name: RegExp) => readonly number[]
}

/** A function, with the times of the ranks that have a row about it. */
export interface RankedFunction extends ProfiledFunction {
  /** The times by the index of the rank. */
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

/** Adds up the profiles of a program by rank. @param rankOf returns the rank of a log */
export function rankProfile(
  profile: ProgramProfile,
  rankOf: (source: string) => string,
): RankedProfile {
  const { program, executable, kind, functions, logs } = profile
  const ranks = [...new Set([...logs.keys()].map(rankOf))]
  const places = new Map(ranks.map((rank, index) => [rank, index]))
  const times = functions.map(() => new Map<number, FunctionTime>())
  const seconds = ranks.map(() => 0)
  const incomplete = ranks.map((): string[] => [])
  for (const [source, log] of logs) {
    const place = places.get(rankOf(source)) ?? 0
    incomplete[place]?.push(...log.incomplete)
    for (const [number, time] of timesIn(log.functions)) {
      seconds[place] = (seconds[place] ?? 0) + time.self
      const own = times[number]
      own?.set(place, plus(own.get(place), time))
    }
  }
  const ranked = functions.map((one, index) => ({ ...one, times: times[index] ?? new Map() }))
  const secondsThrough = (name: RegExp) =>
    sumStacks(profile, name, (log) => places.get(rankOf(log)))
  return {
    program,
    executable,
    kind,
    ranks,
    seconds,
    incomplete,
    functions: ranked,
    secondsThrough,
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
  for (const [log, { stacks }] of logs) {
    const place = placeOf(log) ?? 0
    const seconds = stacks.filter((_, at) => at % 2 === 1 && isIn[stacks[at - 1] ?? 0] === true)
    sums[place] = seconds.reduce((sum, own) => sum + own, sums[place] ?? 0)
  }
  return sums
}

/** Returns for each frame whether its function or one that called it has a name that matches. */
function findFrames({ names, parents, functions }: FrameTree, name: RegExp): readonly boolean[] {
  const matching = names.map((one) => name.test(one))
  // The number of a frame is greater than that of its parent.
  const isIn: boolean[] = []
  for (const [frame, parent] of parents.entries())
    isIn.push(isIn[parent] === true || matching[functions[frame] ?? -1] === true)
  return isIn
}

function* timesIn(fields: readonly number[]): Generator<readonly [number, FunctionTime]> {
  for (let at = 0; at < fields.length; at += FUNCTION_FIELDS) {
    const [number = 0, self = 0, total = Number.NaN, samples = 0] = fields.slice(at, at + 4)
    yield [number, { self, total: Number.isNaN(total) ? null : total, samples }]
  }
}

function plus(before: FunctionTime | undefined, { self, total, samples }: FunctionTime) {
  if (before === undefined) return { self, total, samples }
  const isKnown = before.total !== null && total !== null
  return {
    self: before.self + self,
    total: isKnown ? before.total + total : null,
    samples: before.samples + samples,
  }
}
