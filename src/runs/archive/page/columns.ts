// The columns of the table, and the texts of a run.

import { durationText } from '../../../lib/duration.ts'
import { comparedText, coresText, shortBytes } from '../../card/card-numbers.ts'
import { counted } from '../../report/page/format.ts'
import type { StoredRun } from '../listed-run.ts'

/** A value that is not known. */
const UNKNOWN = '–'

export interface RunColumn {
  readonly title: string
  /** The unit, below the title. */
  readonly unit?: string
  /** Whether the column has texts, which begin at its left side. */
  readonly isText?: boolean
  /** Whether a change of its number is shown in a comparison. */
  readonly hasChange?: boolean
  /** Returns the value by which runs are sorted. */
  readonly value: (run: StoredRun) => string | number | null
  readonly text: (run: StoredRun) => string
}

export const NAME: RunColumn = {
  title: 'Run',
  isText: true,
  value: ({ name }) => name,
  text: ({ name }) => name,
}

export const WORKLOAD: RunColumn = {
  title: 'Workload',
  isText: true,
  value: ({ workload }) => workload,
  text: ({ workload }) => workload,
}

export const STARTED: RunColumn = {
  title: 'Started',
  unit: 'UTC',
  value: ({ started }) => started,
  text: ({ started }) => (started === null ? UNKNOWN : startText(started)),
}

/** Only a comparison has the images: the table has no room for them, but the search finds them. */
const IMAGES: RunColumn = {
  title: 'Images',
  isText: true,
  value: ({ images }) => images.join(', '),
  text: ({ images }) => (images.length === 0 ? UNKNOWN : images.join(', ')),
}

/** The parts of the time before the application of a pod starts. */
const BEFORE = ['creating', 'scheduling', 'preparing', 'observers', 'init', 'pulling'] as const

/** Returns how long a pod waited and was prepared until its application started, in seconds. */
function timeBefore({ time }: StoredRun): number | null {
  if (time === null || time.places === 0) return null
  return BEFORE.reduce((sum, part) => sum + time.seconds[part], 0) / time.places
}

function timeLost({ time }: StoredRun): number | null {
  return time === null || time.places === 0 ? null : time.seconds.lost / time.places
}

function timeText(seconds: number | null): string {
  return seconds === null ? UNKNOWN : durationText(seconds)
}

const FACTS: readonly RunColumn[] = [
  {
    title: 'Phase',
    isText: true,
    value: ({ phase }) => phase,
    text: ({ phase }) => phase ?? UNKNOWN,
  },
  STARTED,
  {
    title: 'Time',
    hasChange: true,
    value: ({ seconds }) => seconds,
    text: ({ seconds }) => timeText(seconds),
  },
  {
    title: 'To start',
    unit: 'mean of the pods',
    hasChange: true,
    value: timeBefore,
    text: (run) => timeText(timeBefore(run)),
  },
  {
    title: 'Lost',
    unit: 'to restarts',
    hasChange: true,
    value: timeLost,
    text: (run) => timeText(timeLost(run)),
  },
  {
    title: 'Pods',
    unit: 'observed/expected',
    hasChange: true,
    value: ({ pods }) => pods?.expected ?? null,
    text: ({ pods }) => (pods === null ? UNKNOWN : `${pods.observed}/${pods.expected}`),
  },
  {
    title: 'Cores',
    unit: 'used/requested',
    hasChange: true,
    value: ({ cores }) => cores.used ?? cores.requested,
    text: ({ cores }) => comparedText(cores, coresText),
  },
  {
    title: 'Memory',
    unit: 'peak/requested',
    hasChange: true,
    value: ({ memory }) => memory.used ?? memory.requested,
    text: ({ memory }) => comparedText(memory, shortBytes),
  },
  {
    title: 'First finding',
    isText: true,
    value: ({ finding }) => finding,
    text: ({ finding }) => finding ?? UNKNOWN,
  },
]

export const COLUMNS: readonly RunColumn[] = [NAME, WORKLOAD, ...FACTS]

/** The facts by which two runs are compared. */
export const COMPARED: readonly RunColumn[] = [WORKLOAD, ...FACTS, IMAGES]

/** Returns a time as text. @param started in seconds since 1970 */
export function startText(started: number): string {
  return new Date(started * 1000).toISOString().slice(0, 16).replace('T', ' ')
}

export function countRuns(count: number): string {
  return counted(count, 'run')
}
