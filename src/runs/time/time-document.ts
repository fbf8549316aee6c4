import { asText, type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { readTime } from '../../lib/rfc3339.ts'
import { rounded } from '../../lib/round.ts'
import {
  type DividedRunning,
  mapParts,
  type RunningSeconds,
  type SpentTime,
  type TimeOfRun,
} from './parts.ts'
import { mapStates } from './running-time.ts'

/** Returns where the time of a run went for programs. */
export function timeDocument(time: TimeOfRun) {
  const { from, to, running, reasons } = time
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    ...spentDocument(time),
    running: running && { ...running, seconds: roundStates(running.seconds) },
    reasons,
  }
}

function roundStates(seconds: RunningSeconds): RunningSeconds {
  return { ...mapStates((state) => rounded(seconds[state])), unknown: rounded(seconds.unknown) }
}

/** Returns the parts of a time for programs. */
export function spentDocument({ places, restarts, seconds }: SpentTime): SpentTime {
  return { places, restarts, seconds: mapParts((part) => rounded(seconds[part]) ?? 0) }
}

/** Reads what `timeDocument` returns; null if it has no times. */
export function readTimeDocument(value: unknown): TimeOfRun | null {
  const fields = fieldsOrNone(value)
  const [from, to] = [readTime(fields.from), readTime(fields.to)]
  if (from === null || to === null) return null
  const { reasons } = fields
  return {
    from,
    to,
    ...readSpentTime(fields),
    running: readRunning(fieldsOrNone(fields.running)),
    reasons: listOrNone(reasons).flatMap((reason) => asText(reason) ?? []),
  }
}

function readRunning({ seconds, isLimit }: Fields): DividedRunning | null {
  if (seconds === undefined) return null
  const known = fieldsOrNone(seconds)
  const states = mapStates((state) => (known[state] === null ? null : readCount(known[state])))
  return { seconds: { ...states, unknown: readCount(known.unknown) }, isLimit: isLimit === true }
}

/** Reads what `spentDocument` returns. Numbers that are missing or invalid are 0. */
export function readSpentTime({ places, restarts, seconds }: Fields): SpentTime {
  const known = fieldsOrNone(seconds)
  return {
    places: readCount(places),
    restarts: readCount(restarts),
    seconds: mapParts((part) => readCount(known[part])),
  }
}

function readCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0
}
