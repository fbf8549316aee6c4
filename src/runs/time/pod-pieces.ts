import { maximum, minimum } from '../../lib/statistics.ts'
import type { RunPod } from '../facts/pod-facts.ts'
import type { EventTime } from '../facts/pod-history.ts'
import { cutPieces, type PartEnd, type Piece, type TimePart } from './parts.ts'

/** A pod among the pods that followed each other in a place of a workload. */
export interface PlacedPod {
  readonly pod: RunPod
  /** From its creation until the next pod was created, or until the end of the run. */
  readonly from: number
  readonly to: number
  /** Whether an earlier pod had started its application, and was replaced before it succeeded. */
  readonly isRetry: boolean
  /** Whether the next pod replaces this one, or does other work because this one has succeeded. */
  readonly next: 'none' | 'retry' | 'other'
}

/**
 * Divides the time of a pod, from its creation on. Between two known times, a part counts only if
 * no time between them is missing; otherwise the part is not known.
 */
export function cutPod(placed: PlacedPod): readonly Piece[] {
  const { pod, from, to } = placed
  const [before, open] = endsUntilRunning(pod)
  const end = endOf(pod)
  const ends: readonly PartEnd[] = [
    ...before,
    { part: end === null ? 'unknown' : open, at: end ?? to },
    { part: 'ending', at: to },
  ]
  return cutPieces(from, to, ends).map((piece) => ({ ...piece, part: partOf(piece.part, placed) }))
}

const TAIL: readonly TimePart[] = ['running', 'ending']

/** Returns the part that the pods before and after this one make of a part. */
function partOf(part: TimePart, placed: PlacedPod): TimePart {
  if (part === 'unknown') return part
  if (TAIL.includes(part)) return tailOf(part, placed)
  return placed.isRetry ? 'lost' : part
}

function tailOf(part: TimePart, { pod, isRetry, next }: PlacedPod): TimePart {
  if (next === 'none') return part
  if (next === 'retry' && (isRetry || hasStarted(pod))) return 'lost'
  return part === 'ending' ? 'creating' : part
}

/** Reports whether the application of a pod has started, also if the time is not known. */
export function hasStarted({ history }: RunPod): boolean {
  return history.marks.at(-1)?.at !== undefined
}

/**
 * Returns when the application of a pod ended: undefined if it has not; null if that was not seen.
 * A pod that was deleted before its containers were seen to end, ended when that was requested.
 */
export function endOf({ ended, phase, isGone, history: { deleted } }: RunPod): EventTime {
  if (ended !== null) return ended
  if (isGone) return deleted
  return phase === 'Succeeded' || phase === 'Failed' ? deleted : undefined
}

/** Returns the parts until the application runs for the last time, and the part after them. */
function endsUntilRunning(pod: RunPod): EndsAndOpen {
  const ends: PartEnd[] = []
  let open: TimePart[] = []
  for (const { part, at } of pod.history.marks) {
    open = [...new Set([...open, part])]
    if (at === undefined) return [ends, agree(open)]
    if (at === null) continue
    ends.push({ part: agree(open), at })
    open = []
  }
  const isKnown = open.length === 0
  const [restarts, last] = endsOfRestarts(pod, isKnown)
  return [[...ends, ...restarts], last]
}

function agree(parts: readonly TimePart[]): TimePart {
  const [first = 'unknown', ...others] = parts
  return others.length === 0 ? first : 'unknown'
}

/** The parts until a time, and the part after it. */
type EndsAndOpen = readonly [readonly PartEnd[], TimePart]

/**
 * Returns the parts between the first and the last start of the application. An attempt is lost if
 * all containers were started again. If others went on, it is not known which attempt was lost.
 */
function endsOfRestarts({ history: { starts } }: RunPod, isFirstKnown: boolean): EndsAndOpen {
  const begun = starts.filter(({ first }) => first !== undefined)
  const restarted = begun.filter(({ restarts, last }) => restarts > 0 || last === undefined)
  if (restarted.length === 0) return [[], isFirstKnown ? 'running' : 'unknown']
  if (begun.some(({ last }) => last === null)) return [[], 'unknown']
  const part: TimePart = isFirstKnown ? 'lost' : 'unknown'
  const all = minimum(begun.map(({ last }) => last ?? null))
  if (all === null) return [[], part]
  const lost = { part, at: all }
  // A container that waits for its next start may end the time of the others, or not.
  if (restarted.some(({ last }) => last === undefined)) return [[lost], 'unknown']
  const some = maximum(restarted.map(({ last }) => last ?? null)) ?? all
  return [[lost, { part: 'unknown', at: some }], 'running']
}
