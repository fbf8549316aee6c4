import type { Fields } from '../../core/kubernetes/json.ts'
import { buildWarning, MAX_MESSAGE_LENGTH } from '../../core/missed/warning-event.ts'
import { printable } from '../../core/text/printable.ts'
import { hashedName } from '../../lib/hashed-name.ts'
import { rfc3339 } from '../../lib/rfc3339.ts'
import { findingText } from '../card/card-findings.ts'
import type { RunCard } from '../card/run-card.ts'
import { camelCase } from './run-conditions.ts'

/**
 * Builds the Events about the failures of a run, on its workload: one for each finding. The name of
 * an Event is derived from the run and the finding, so that an archive that has restarted
 * overwrites it.
 *
 * @param now the time in milliseconds since 1970
 */
export function buildRunEvents({ run, findings }: RunCard, now: number): readonly Fields[] {
  const { namespace, apiVersion, kind, name, uid, revision } = run
  const time = rfc3339(now)
  const failures = findings.filter(({ severity }) => severity === 'failure')
  return failures.map((finding) => {
    const warning = {
      namespace,
      regarding: { apiVersion, kind, name, uid },
      reason: camelCase(finding.name),
      message: printable(findingText(finding), MAX_MESSAGE_LENGTH),
      count: 1 + finding.others,
      first: time,
      last: time,
    }
    return buildWarning(warning, hashedName([finding.name, uid, revision]))
  })
}
