import { KEYS } from '../../core/keys.ts'
import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { ownership } from '../../core/kubernetes/managed-fields.ts'

/** The fields of an object that are kept. */
export interface StoredObject {
  readonly name: string
  /** The namespace of the object, or the name of the Namespace itself. */
  readonly namespace: string
  readonly resourceVersion: string
  readonly object: Fields
}

/**
 * Reports whether one resourceVersion is later than another: resourceVersions are increasing
 * numbers (KEP-5504).
 */
export function isLater(one: string, other: string): boolean {
  return Number(one) > Number(other)
}

/**
 * Selects the fields of a Namespace to keep: its labels, the annotations of Ridealong, and the
 * entries of `managedFields` that own the inject annotation. The other annotations and managed
 * fields are ten times as large, for example kubectl's last applied configuration.
 *
 * @throws an error for an object without a name or a resourceVersion
 */
export function namespaceItem(object: unknown): StoredObject {
  const { name, resourceVersion, metadata } = identify(object)
  const { labels } = metadata
  const annotations = Object.fromEntries(
    Object.entries(fieldsOrNone(metadata.annotations)).filter(([key]) => key.includes(OURS)),
  )
  const managedFields = ownership(fieldsOrNone(object), KEYS.inject)
  const kept = { name, resourceVersion, labels, annotations, managedFields }
  return { name, namespace: name, resourceVersion, object: { metadata: kept } }
}

const OURS = 'ridealong.dev/'

/**
 * Selects the fields of a LimitRange or a ResourceQuota to keep: its spec and its status.
 *
 * @throws an error for an object without a name, a namespace or a resourceVersion
 */
export function ruleItem(object: unknown): StoredObject {
  const { name, resourceVersion, metadata } = identify(object)
  const { spec, status } = fieldsOrNone(object)
  const namespace = asText(metadata.namespace)
  if (!namespace) throw new Error(`the apiserver sent ${name} without its namespace`)
  return {
    name,
    namespace,
    resourceVersion,
    object: { metadata: { name, namespace }, spec, status },
  }
}

function identify(object: unknown) {
  const metadata = fieldsOrNone(fieldsOrNone(object).metadata)
  const { name, resourceVersion } = metadata
  if (!asText(name) || !asText(resourceVersion)) {
    throw new Error('the apiserver sent an object without a name or a resourceVersion')
  }
  return { name: name as string, resourceVersion: resourceVersion as string, metadata }
}
