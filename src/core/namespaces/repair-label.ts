import { ARMED_LABEL } from '../keys.ts'
import { asText, type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { requestsMetrics } from '../request.ts'
import { relabel } from './arm-namespace.ts'
import { readNamespace } from './namespace.ts'

/**
 * A repair of the label `ridealong.dev/armed` on a namespace that was changed without a review by
 * the webhook.
 */
export interface Rearming {
  readonly outcome: 'armed' | 'disarmed'
  /** A JSON merge patch (RFC 7386) for the Namespace. */
  readonly patch: Fields
}

/**
 * Decides whether the label on a namespace must be repaired.
 *
 * The patch contains the resourceVersion on which the decision is based. If the namespace has
 * changed since then, for example because another replica repaired the label, the apiserver returns
 * a conflict and changes nothing.
 *
 * @returns undefined if the label is correct or the administrator excludes the namespace
 */
export function rearm(
  object: unknown,
  excludedNamespaces: ReadonlySet<string>,
): Rearming | undefined {
  const metadata = fieldsOrNone(fieldsOrNone(object).metadata)
  const name = asText(metadata.name) ?? ''
  if (excludedNamespaces.has(name)) return undefined
  const isAsking = requestsMetrics(readNamespace(name, object).annotations)
  if (relabel(object, isAsking).length === 0) return undefined
  const { resourceVersion } = metadata
  const labels = { [ARMED_LABEL]: isAsking ? 'true' : null }
  return {
    outcome: isAsking ? 'armed' : 'disarmed',
    patch: { metadata: { resourceVersion, labels } },
  }
}
