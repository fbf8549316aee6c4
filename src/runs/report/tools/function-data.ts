import { rounded } from '../../../lib/round.ts'
import { median, standingOut } from '../../../lib/statistics.ts'
import type { FunctionDifference } from '../../profiles/differences.ts'
import type { FunctionByPod, ProfileByPod } from '../../profiles/profile-by-pod.ts'

/** The functions of a program, and their times by pod. */
export interface FunctionData {
  readonly rows: readonly FunctionRow[]
  /** The number of functions that are left out. */
  readonly omitted: number
}

/** A function. The times are in seconds, one for each pod; null if the pod has no row. */
export interface FunctionRow {
  readonly name: string
  readonly library: string | null
  readonly self: readonly (number | null)[]
  readonly total: readonly (number | null)[]
  /** The indexes of the pods whose self time or total time is an outlier. */
  readonly outliers: readonly [readonly number[], readonly number[]]
}

/** The most times of the page, and the fewest and the most functions of a program. */
const MAX_TIMES = 150_000
const MIN_FUNCTIONS = 10
const MAX_FUNCTIONS = 200
/** The distance from the median that an outlier exceeds, as a part of a pod's processor time. */
const FLOOR = 0.01

/**
 * Returns the functions with a difference between pods, and then those with the most self time, as
 * far as they fit into the page.
 *
 * @param pods the pods in the order of the times
 * @param share the number of programs that share the room of the page
 */
export function functionData(
  profile: ProfileByPod,
  pods: readonly string[],
  differences: readonly FunctionDifference[],
  share: number,
): FunctionData {
  const { functions, seconds } = profile
  const room = Math.floor(MAX_TIMES / (2 * share * Math.max(pods.length, 1)))
  const most = Math.min(Math.max(room, MIN_FUNCTIONS), MAX_FUNCTIONS)
  const first = new Set(differences.slice(0, most >> 1).map(keyOf))
  const sorted = functions
    .map((one) => ({ one, isFirst: first.has(keyOf(one)), self: selfOf(one) }))
    .sort((a, b) => Number(b.isFirst) - Number(a.isFirst) || b.self - a.self)
    .slice(0, most)
    .sort((a, b) => b.self - a.self)
  const places = new Map(profile.pods.map((pod, index) => [pod, index]))
  const order = pods.map((pod) => places.get(pod) ?? 0)
  const floor = FLOOR * (median(seconds) ?? 0)
  return {
    rows: sorted.map(({ one }) => functionRow(one, order, floor)),
    omitted: functions.length - sorted.length,
  }
}

function keyOf({ name, library }: Pick<FunctionByPod, 'name' | 'library'>): string {
  return JSON.stringify([name, library])
}

function selfOf({ times }: FunctionByPod): number {
  let sum = 0
  for (const { self } of times.values()) sum += self
  return sum
}

function functionRow(
  { name, library, times }: FunctionByPod,
  order: readonly number[],
  floor: number,
): FunctionRow {
  const [self, total] = (['self', 'total'] as const).map((key) =>
    order.map((index) => rounded(times.get(index)?.[key] ?? null)),
  ) as [(number | null)[], (number | null)[]]
  return {
    name,
    library,
    self,
    total,
    outliers: [outliersIn(self, floor), outliersIn(total, floor)],
  }
}

function outliersIn(values: readonly (number | null)[], floor: number): readonly number[] {
  return standingOut(values, floor).flatMap((isOut, index) => (isOut ? index : []))
}
