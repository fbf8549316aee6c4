import { KEYS } from '../../../src/core/keys.ts'
import { asText, type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import { ownership } from '../../../src/core/kubernetes/managed-fields.ts'

/** What is kept of an object. */
export interface StoredObject {
  readonly name: string
  /** The namespace that the object is in, or is. */
  readonly namespace: string
  readonly resourceVersion: string
  readonly object: Fields
}

/** Whether one resourceVersion is later than another: they are numbers that grow (KEP-5504). */
export function isLater(one: string, other: string): boolean {
  return Number(one) > Number(other)
}

/**
 * Keeps of a Namespace its labels, the annotations that can be ours, and of `managedFields` who asks:
 * the rest of them, and what kubectl last applied, are ten times as much.
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
 * Keeps of a LimitRange or a ResourceQuota what it says of pods.
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
