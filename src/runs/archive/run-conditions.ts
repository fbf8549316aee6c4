import { printable } from '../../core/text/printable.ts'
import { capitalized } from '../../lib/capitalized.ts'
import { rfc3339 } from '../../lib/rfc3339.ts'
import { findingText } from '../card/card-findings.ts'
import type { RunCard } from '../card/run-card.ts'
import { isOver } from '../facts/run.ts'

/** A condition of an object Run (meta/v1 Condition). */
export interface RunCondition {
  readonly type: string
  readonly status: 'True'
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
}

const MAX_MESSAGE = 192

/**
 * Returns the conditions that are true of a run: one for each finding, with its name in CamelCase,
 * and those about its end and its summaries.
 *
 * @param times since when conditions are true, by type, in RFC 3339 format
 */
export function listConditions(
  card: RunCard,
  times: ReadonlyMap<string, string>,
  now: number,
): readonly RunCondition[] {
  const findings = card.findings.map((finding) => {
    return [camelCase(finding.name), capitalized(finding.severity), findingText(finding)] as const
  })
  return [...findings, ...describeEnd(card)].map(([type, reason, message]) => ({
    type,
    status: 'True',
    reason,
    message: printable(message, MAX_MESSAGE),
    lastTransitionTime: times.get(type) ?? rfc3339(now),
  }))
}

/** Returns the type of the condition for a finding: `OomKilled` for `oom-killed`. */
export function camelCase(finding: string): string {
  return finding.split('-').map(capitalized).join('')
}

type TypeReasonMessage = readonly [string, string, string]

function describeEnd({ run: { phase }, missing }: RunCard): readonly TypeReasonMessage[] {
  const [first] = missing
  const more = missing.length > 1 ? ` (and ${missing.length - 1} more)` : ''
  return [
    ...(phase === 'Deleted'
      ? [['Deleted', 'DeletedWhileRunning', 'it was deleted before it ended'] as const]
      : []),
    ...(isOver(phase) && first !== undefined
      ? [['SummariesIncomplete', 'SummaryMissing', `${first}${more}`] as const]
      : []),
  ]
}

/** Why the end of a run is not known. */
const UNSEEN_END = 'its pods were deleted while the archive did not watch them'

/** Returns the condition of a run whose end is not known. @param time in RFC 3339 format */
export function unseenEnd(time: string): RunCondition {
  const [type, reason] = ['EndNotSeen', 'ArchiveNotRunning']
  return { type, status: 'True', reason, message: UNSEEN_END, lastTransitionTime: time }
}
