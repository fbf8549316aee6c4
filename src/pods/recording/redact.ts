import type { Catalog } from '../../core/catalog.ts'
import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { METADATA } from './redact-metadata.ts'
import { podRedaction } from './redact-pod.ts'
import { eachField, fields, items, type Redaction, redacted, taken } from './redaction.ts'

/** Names of controllers and nodes have this prefix; names of people do not. */
const OF_SYSTEM = /^system:/

const group: Redaction = (name) => (OF_SYSTEM.test(asText(name) ?? '') ? name : taken(name))

const PERSON = fields({
  username: taken,
  uid: taken,
  groups: items(group),
  extra: eachField((_key, said) => items(taken)(said)),
})

/** Redacts the user who creates a pod, unless the user is a system component. */
const userInfo: Redaction = (user) => {
  return OF_SYSTEM.test(asText(fieldsOrNone(user).username) ?? '') ? user : PERSON(user)
}

/**
 * Redacts the parts of a pod's AdmissionReview that may be secrets. Among them are the values of
 * variables, arguments, headers, annotations that belong to neither Ridealong nor Kubernetes, and
 * the identity of the person who creates the pod. The redaction changes neither the decision about
 * the pod nor the patch.
 *
 * @param catalog the catalog that the webhook serves; the command and args of its observers are
 * kept
 */
export function redactReview(review: Fields, catalog: Catalog): Fields {
  const pod = podRedaction(catalog)
  return redacted(review, fields({ request: fields({ userInfo, object: pod, oldObject: pod }) }))
}

const OBJECT = fields({ metadata: METADATA })

/** Redacts a Namespace, a LimitRange or a ResourceQuota, and removes its managedFields. */
export function redactObject(object: Fields): Fields {
  const { managedFields: _, ...metadata } = fieldsOrNone(object.metadata)
  return redacted({ ...object, metadata }, OBJECT)
}
