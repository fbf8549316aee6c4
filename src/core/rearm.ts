import { relabel } from './arm.ts'
import { type Fields, fieldsOrNone, textOf } from './json.ts'
import { ARMED_LABEL } from './keys.ts'
import { readNamespace } from './namespace.ts'
import { asks } from './request.ts'

/** A repair of the label on a namespace whose review was missed. */
export interface Rearming {
  readonly outcome: 'armed' | 'disarmed'
  /** A JSON merge patch (RFC 7386) for the Namespace. */
  readonly patch: Fields
}

/**
 * Decides whether the label on a namespace must be repaired.
 *
 * The patch carries the resourceVersion that the decision was made on: whoever knows an older
 * namespace, or comes second, is refused with a conflict and has changed nothing.
 *
 * @returns nothing where the label is right, and for a namespace that the administrator excludes
 */
export function rearm(
  object: unknown,
  excludedNamespaces: ReadonlySet<string>,
): Rearming | undefined {
  const metadata = fieldsOrNone(fieldsOrNone(object).metadata)
  const name = textOf(metadata.name) ?? ''
  if (excludedNamespaces.has(name)) return undefined
  const isAsking = asks(readNamespace(name, object).annotations)
  if (relabel(object, isAsking).length === 0) return undefined
  const { resourceVersion } = metadata
  const labels = { [ARMED_LABEL]: isAsking ? 'true' : null }
  return {
    outcome: isAsking ? 'armed' : 'disarmed',
    patch: { metadata: { resourceVersion, labels } },
  }
}
