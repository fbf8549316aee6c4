import { asObjects, asText, numberOrNull } from '../../core/kubernetes/json.ts'
import { readTime, timeOrNull } from '../../lib/rfc3339.ts'
import { rounded } from '../../lib/round.ts'
import { ATTEMPT_PHASES, type AttemptGroup } from './attempt-groups.ts'

/** Returns the attempts of a run for programs. */
export function attemptsDocument(attempts: readonly AttemptGroup[]) {
  return attempts.map(({ started, ended, seconds, ...group }) => ({
    ...group,
    started: timeOrNull(started),
    ended: timeOrNull(ended),
    seconds: rounded(seconds),
  }))
}

/** Reads what `attemptsDocument` returns. Values of the wrong type count as not known. */
export function readAttempts(value: unknown): readonly AttemptGroup[] {
  return asObjects(value).map((fields) => ({
    attempt: numberOrNull(fields.attempt),
    podIndex: asText(fields.podIndex) ?? null,
    container: asText(fields.container) ?? null,
    phase: ATTEMPT_PHASES.find((phase) => phase === fields.phase) ?? 'Unknown',
    reason: asText(fields.reason) ?? null,
    exitCode: numberOrNull(fields.exitCode),
    signal: numberOrNull(fields.signal),
    count: numberOrNull(fields.count) ?? 0,
    started: readTime(fields.started),
    ended: readTime(fields.ended),
    seconds: numberOrNull(fields.seconds),
  }))
}
