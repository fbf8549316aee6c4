import type { RunningState } from '../efficiency/measured-time.ts'

/**
 * The parts of the time of a run, in the order in which a pod passes through them. All of them
 * are known from the status of pods and workloads, which needs no right beyond that of reading
 * them.
 */
export const TIME_PARTS = {
  creating: { letter: 'c', title: 'until its pod was created' },
  scheduling: { letter: 's', title: 'waiting to be scheduled' },
  preparing: {
    letter: 'v',
    title: 'volumes, network, first image',
    phrase: 'for volumes, the network and the first image',
  },
  observers: {
    letter: 'o',
    title: 'containers of Ridealong',
    phrase: 'in containers of Ridealong',
  },
  init: { letter: 'i', title: 'init containers', phrase: 'in init containers' },
  pulling: {
    letter: 'p',
    title: 'images, creating containers',
    phrase: 'for images and creating containers',
  },
  partial: {
    letter: 'w',
    title: 'ran before the last pod started',
    phrase: 'running before the last pod started',
  },
  running: { letter: 'r', title: 'running' },
  lost: { letter: 'x', title: 'lost to restarts' },
  ending: { letter: 'e', title: 'after its application ended' },
  unknown: { letter: '?', title: 'not known' },
} as const satisfies Readonly<Record<string, PartText>>

/** The words of a part. */
export interface PartText {
  readonly letter: string
  readonly title: string
  /** The words after a duration in a sentence, if they are not those of the title. */
  readonly phrase?: string
}

export type TimePart = keyof typeof TIME_PARTS

export const TIME_PART_NAMES = Object.keys(TIME_PARTS) as readonly TimePart[]

/** Returns a number for each part. */
export function mapParts(read: (part: TimePart) => number): Readonly<Record<TimePart, number>> {
  const parts = TIME_PART_NAMES.map((part) => [part, read(part)] as const)
  return Object.fromEntries(parts) as Record<TimePart, number>
}

/** Where the time of a run went, without its beginning and end. */
export interface SpentTime {
  /** The number of pods that the workload runs at once, each with all its replacements. */
  readonly places: number
  /** How often the application of a pod was started again, in place or in a new pod. */
  readonly restarts: number
  /** Seconds, added over all places; the sum is that of the whole time of each place. */
  readonly seconds: Readonly<Record<TimePart, number>>
}

/** Where the time of a run went. */
export interface TimeOfRun extends SpentTime {
  /** The creation or start of the workload, in milliseconds since 1970. */
  readonly from: number
  /** The end of the last container, or now. */
  readonly to: number
  /** What the processes did in the part `running`; null if their efficiency is not known. */
  readonly running: DividedRunning | null
  /** Why time is not known: whole sentences. */
  readonly reasons: readonly string[]
}

/** What the processes did while their application ran. */
export interface DividedRunning {
  /** Seconds, added over all places; the sum is that of the part `running`. */
  readonly seconds: RunningSeconds
  /** Whether the processes may have computed for less time. */
  readonly isLimit: boolean
}

/** Seconds of each state. A state that is not known is null, and its time is in another one. */
export type RunningSeconds = Readonly<Record<RunningState, number | null>> & {
  /** The time of which no efficiency is known. */
  readonly unknown: number
}

/** A part of the time of a pod. Times are in milliseconds since 1970. */
export interface Piece {
  readonly part: TimePart
  readonly from: number
  readonly to: number
}

/** The end of a part. */
export interface PartEnd {
  readonly part: TimePart
  readonly at: number
}

/**
 * Returns pieces that follow each other. A part that ends before the part before it has no length:
 * clocks of machines differ. No piece begins or ends outside of the whole.
 */
export function cutPieces(from: number, to: number, ends: readonly PartEnd[]): readonly Piece[] {
  const pieces: Piece[] = []
  let start = from
  for (const { part, at } of ends) {
    const end = Math.min(at, to)
    if (end <= start) continue
    pieces.push({ part, from: start, to: end })
    start = end
  }
  return pieces
}
