import { maximum, minimum } from '../../lib/statistics.ts'
import type { RunPod } from '../facts/pod-facts.ts'
import { firstStart } from '../facts/pod-history.ts'
import { isOver, isRevision, type Run } from '../facts/run.ts'
import {
  cutPieces,
  mapParts,
  type Piece,
  type SpentTime,
  type TimeOfRun,
  type TimePart,
} from './parts.ts'
import { cutPod, endOf, hasStarted, type PlacedPod } from './pod-pieces.ts'
import { groupSequences, type PodSequence } from './sequences.ts'

/** The time of a place of a pod, with all the pods that replaced each other there. */
export interface PlaceTime extends Pick<SpentTime, 'seconds' | 'restarts'> {
  /** The index of its pods, or the name of the last one. */
  readonly name: string
  readonly pods: PodSequence
}

/** The time of a run by places, at least one. */
export interface DividedTime extends Pick<TimeOfRun, 'from' | 'to' | 'reasons'> {
  readonly places: readonly PlaceTime[]
}

/** What the time of a run depends on. */
export type TimedRun = Pick<Run, 'group' | 'kind' | 'phase' | 'pods' | 'begun' | 'hasLostPods'>

/**
 * Divides the time of a run from the creation of its workload to its end, for each place of a pod.
 *
 * @param now the time in milliseconds since 1970
 * @returns null for a revision of a workload that has no end, and without pods
 */
export function divideTime(run: TimedRun, now: number): DividedTime | null {
  const { pods } = run
  const from = minimum([...pods.map(({ created }) => created), run.begun])
  if (isRevision(run) || pods.length === 0 || from === null) return null
  const to = Math.max(isOver(run.phase) ? (lastTime(pods) ?? now) : now, from)
  const sequences = groupSequences(pods)
  const lastStart = findLastStart(sequences, to)
  return {
    from,
    to,
    places: sequences.map((sequence) => ({
      name: nameOf(sequence),
      pods: sequence,
      seconds: addPieces(divideRunning(cutSequence(sequence, { run, from, to }), lastStart)),
      restarts: countRestarts(sequence),
    })),
    reasons: [...pods.flatMap((pod) => missingIn(pod, run)), ...missingPods(run)],
  }
}

/** Adds the time of all places. */
export function sumTime({ from, to, places, reasons }: DividedTime): TimeOfRun {
  const add = (read: (place: PlaceTime) => number) =>
    places.reduce((sum, place) => sum + read(place), 0)
  return {
    from,
    to,
    places: places.length,
    seconds: mapParts((part) => add(({ seconds }) => seconds[part])),
    restarts: add(({ restarts }) => restarts),
    running: null,
    reasons,
  }
}

function nameOf(sequence: PodSequence): string {
  const last = sequence.at(-1)
  return last?.pod_index ?? last?.name ?? ''
}

/** Returns when the last container ended or, if no end is known, when the last one started. */
function lastTime(pods: readonly RunPod[]): number | null {
  const ends = pods.flatMap(({ history, ended, isGone }) => {
    return [history.ended, ended, isGone ? history.deleted : null]
  })
  const starts = pods.flatMap(({ history }) => history.starts.map(({ last }) => last ?? null))
  return maximum(ends) ?? maximum(starts)
}

interface Whole {
  readonly run: TimedRun
  readonly from: number
  readonly to: number
}

function cutSequence(sequence: PodSequence, { run, from, to }: Whole): readonly Piece[] {
  const begins = sequence.map(({ created }) => Math.min(created ?? from, to))
  const [begin = from] = begins
  const before = run.hasLostPods ? 'unknown' : 'creating'
  let isRetry = false
  const pieces = sequence.flatMap((pod, index) => {
    const next = nextOf(pod, sequence[index + 1])
    const placed = { pod, from: begins[index] ?? from, to: begins[index + 1] ?? to, isRetry, next }
    isRetry = next === 'retry' && (isRetry || hasStarted(pod))
    return cutPod(placed)
  })
  return [...cutPieces(from, begin, [{ part: before, at: begin }]), ...pieces]
}

function nextOf({ phase }: RunPod, following: RunPod | undefined): PlacedPod['next'] {
  if (following === undefined) return 'none'
  return phase === 'Succeeded' ? 'other' : 'retry'
}

type LastStart = readonly [known: number, possible: number]

/** Divides the running time at the start of the last pod. */
function divideRunning(pieces: readonly Piece[], [known, possible]: LastStart): readonly Piece[] {
  return pieces.flatMap((piece) => {
    if (piece.part !== 'running') return piece
    return cutPieces(piece.from, piece.to, [
      { part: 'partial', at: known },
      { part: 'unknown', at: possible },
      { part: 'running', at: piece.to },
    ])
  })
}

/**
 * Returns when the last pod started, and the latest time at which it may have started. Only pods
 * count that were created before the first of them started: later ones were added to a run that
 * went on without them.
 */
function findLastStart(sequences: readonly PodSequence[], to: number): LastStart {
  const starts = sequences.map((sequence) => {
    const pod = sequence.find(hasStarted)
    const span = pod === undefined ? ([to, to] as const) : spanOfStart(pod, to)
    return { created: sequence[0]?.created ?? 0, span }
  })
  const [earliest, latest] = [0, 1].map((end) => minimum(starts.map(({ span }) => span[end] ?? to)))
  const together = (limit: number) => starts.filter(({ created }) => created <= limit)
  const known = together(earliest ?? to).map(({ span }) => span[0])
  const possible = together(latest ?? to).map(({ span }) => span[1])
  return [maximum(known) ?? to, maximum(possible) ?? to]
}

/** Returns the earliest and the latest time at which a pod may have started its application. */
function spanOfStart(pod: RunPod, to: number): readonly [number, number] {
  const { marks, starts } = pod.history
  const at = firstStart(starts)
  if (typeof at === 'number') return [at, at]
  const before = maximum([pod.created, ...marks.map((mark) => mark.at ?? null)])
  const after = minimum([...starts.map(({ last }) => last ?? null), endOf(pod) ?? null])
  return [before ?? 0, after ?? to]
}

function addPieces(pieces: readonly Piece[]): SpentTime['seconds'] {
  const sums = new Map<TimePart, number>()
  for (const { part, from, to } of pieces)
    sums.set(part, (sums.get(part) ?? 0) + (to - from) / 1000)
  return mapParts((part) => sums.get(part) ?? 0)
}

function countRestarts(sequence: PodSequence): number {
  const inPlace = sequence.map(({ history: { starts } }) => {
    return maximum(starts.map(({ restarts }) => restarts)) ?? 0
  })
  const thrownAway = sequence.slice(0, -1).filter(({ phase }) => phase !== 'Succeeded')
  return inPlace.reduce((sum, count) => sum + count, thrownAway.length)
}

/** Returns why the time of a pod is not known as a whole: at most one sentence. */
function missingIn(pod: RunPod, { phase }: TimedRun): readonly string[] {
  const { name, history } = pod
  const mark = history.marks.find(({ at }) => at === null)
  if (mark !== undefined) return [`${name}: its status does not have the time when ${mark.event}`]
  if (endOf(pod) === null || (isOver(phase) && endOf(pod) === undefined))
    return [`${name}: its end was not seen`]
  const restarted = history.starts.filter(({ restarts }) => restarts > 0)
  const isPart = restarted.length > 0 && restarted.length < history.starts.length
  if (!isPart) return []
  const names = restarted.map((container) => container.name).join(', ')
  return [`${name}: only some of its containers were started again (${names})`]
}

function missingPods({ hasLostPods }: TimedRun): readonly string[] {
  return hasLostPods ? ['earlier pods, which failed, do not exist any more'] : []
}
