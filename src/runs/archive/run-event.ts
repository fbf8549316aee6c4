import { createHash } from 'node:crypto'
import type { Fields } from '../../core/kubernetes/json.ts'
import { printable } from '../../core/text/printable.ts'
import { type CardFinding, findingText } from '../card/card-findings.ts'
import type { RunCard } from '../card/run-card.ts'
import { camelCase } from './run-conditions.ts'

/**
 * The maximum length of a note in events.k8s.io/v1 (NoteLengthLimit). The same API also returns
 * core/v1 Events, with the message as the note.
 */
const MAX_MESSAGE = 1024

/**
 * Builds the Events about the failures of a run, on its workload: one for each finding. The name of
 * an Event is derived from the run and the finding, so that an archive that has restarted
 * overwrites it.
 *
 * @param now the time in milliseconds since 1970
 */
export function buildRunEvents({ run, findings }: RunCard, now: number): readonly Fields[] {
  const { namespace, apiVersion, kind, name, uid, revision } = run
  const failures = findings.filter(({ severity }) => severity === 'failure')
  return failures.map((finding) => {
    const time = `${new Date(now).toISOString().slice(0, 19)}Z`
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: nameEvent([finding.name, uid, revision]), namespace },
      involvedObject: { apiVersion, kind, name, uid, namespace },
      type: 'Warning',
      reason: camelCase(finding.name),
      message: messageOf(finding),
      count: 1 + finding.others,
      firstTimestamp: time,
      lastTimestamp: time,
      source: { component: 'ridealong' },
      reportingComponent: 'ridealong',
    }
  })
}

function messageOf(finding: CardFinding): string {
  return printable(findingText(finding), MAX_MESSAGE)
}

/** Returns the name of an Event. As a hash, it is valid whatever the names of the run are. */
function nameEvent(parts: readonly (string | null)[]): string {
  const text = JSON.stringify(parts)
  return `ridealong.${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}
