import { asText, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { readTime } from '../../lib/rfc3339.ts'
import { rounded } from '../../lib/round.ts'
import { mapParts } from './parts.ts'
import type { TimeOfRun } from './run-time.ts'

/** Returns where the time of a run went for programs. */
export function timeDocument(time: TimeOfRun) {
  const { from, to, places, seconds, restarts, reasons } = time
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    places,
    restarts,
    seconds: mapParts((part) => rounded(seconds[part]) ?? 0),
    reasons,
  }
}

/** Reads what `timeDocument` returns; null if it has no times. */
export function readTimeDocument(value: unknown): TimeOfRun | null {
  const { from, to, places, restarts, seconds, reasons } = fieldsOrNone(value)
  const [start, end] = [readTime(from), readTime(to)]
  if (start === null || end === null) return null
  const known = fieldsOrNone(seconds)
  return {
    from: start,
    to: end,
    places: readCount(places),
    restarts: readCount(restarts),
    seconds: mapParts((part) => readCount(known[part])),
    reasons: listOrNone(reasons).flatMap((reason) => asText(reason) ?? []),
  }
}

function readCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0
}
