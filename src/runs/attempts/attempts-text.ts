import { durationText } from '../../lib/duration.ts'
import type { TextBlock } from '../../lib/output-format.ts'
import { rfc3339 } from '../../lib/rfc3339.ts'
import { describeEnd } from '../findings/signals.ts'
import { podText } from '../rules/sentence.ts'
import { type AttemptGroup, hasRestarts } from './attempt-groups.ts'

/**
 * Formats the attempts of a run for people: a row for each group. Empty if no container was started
 * again.
 */
export function formatAttempts(attempts: readonly AttemptGroup[]): readonly TextBlock[] {
  if (!hasRestarts(attempts)) return []
  const containers = new Set(attempts.flatMap(({ container }) => container ?? []))
  const rows = attempts.map((group) => [
    group.attempt === null ? '?' : `${group.attempt}`,
    group.seconds === null ? '-' : durationText(group.seconds),
    subjectOf(group, containers.size > 1),
    phaseText(group),
  ])
  return ['', 'Attempts', { rows, indent: 2 }]
}

function subjectOf({ podIndex, container, count }: AttemptGroup, isOfSeveral: boolean): string {
  const attempts = count === 1 ? '1 attempt' : `${count} attempts`
  const pod = podIndex === null ? '' : podText(podIndex)
  const subject = [count === 1 && pod !== '' ? '' : attempts, pod].filter(Boolean).join(' of ')
  return isOfSeveral && container !== null ? `${subject}, ${container}` : subject
}

/** Returns how attempts ended: `exit code 1`. */
export function phaseText({ phase, started, ...end }: AttemptGroup): string {
  switch (phase) {
    case 'Running':
      return started === null ? 'runs' : `runs since ${rfc3339(started)}`
    case 'Unknown':
      return started === null ? 'no longer known' : 'its end was not seen'
    case 'Succeeded':
      return 'succeeded'
    case 'Failed':
      return end.exitCode === null ? `failed: ${end.reason ?? 'not known'}` : describeEnd(end)
  }
}
