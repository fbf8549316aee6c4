import { asObjects, asText } from '../../core/kubernetes/json.ts'
import { readTime } from '../../lib/rfc3339.ts'
import { rounded } from '../../lib/round.ts'
import { ATTEMPT_PHASES, type AttemptGroup } from './attempt-groups.ts'

/** Returns the attempts of a run for programs. */
export function attemptsDocument(attempts: readonly AttemptGroup[]) {
  return attempts.map(({ started, ended, seconds, ...group }) => ({
    ...group,
    started: timeText(started),
    ended: timeText(ended),
    seconds: rounded(seconds),
  }))
}

function timeText(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString()
}

/** Reads what `attemptsDocument` returns. Values of the wrong type count as not known. */
export function readAttempts(value: unknown): readonly AttemptGroup[] {
  return asObjects(value).map((fields) => ({
    attempt: readNumber(fields.attempt),
    podIndex: asText(fields.podIndex) ?? null,
    container: asText(fields.container) ?? null,
    phase: ATTEMPT_PHASES.find((phase) => phase === fields.phase) ?? 'Unknown',
    reason: asText(fields.reason) ?? null,
    exitCode: readNumber(fields.exitCode),
    signal: readNumber(fields.signal),
    count: readNumber(fields.count) ?? 0,
    started: readTime(fields.started),
    ended: readTime(fields.ended),
    seconds: readNumber(fields.seconds),
  }))
}

function readNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
