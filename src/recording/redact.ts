import type { Catalog } from '../core/catalog.ts'
import { asText, type Fields, fieldsOrNone } from '../core/kubernetes/json.ts'
import { METADATA } from './redact-metadata.ts'
import { podRedaction } from './redact-pod.ts'
import { eachField, fields, items, type Redaction, redacted, taken } from './redaction.ts'

/** Controllers and nodes have names of this kind; people do not. */
const OF_SYSTEM = /^system:/

const group: Redaction = (name) => (OF_SYSTEM.test(asText(name) ?? '') ? name : taken(name))

const PERSON = fields({
  username: taken,
  uid: taken,
  groups: items(group),
  extra: eachField((_key, said) => items(taken)(said)),
})

/** Who creates a pod is nobody's business, unless it is a part of the system. */
const userInfo: Redaction = (user) => {
  return OF_SYSTEM.test(asText(fieldsOrNone(user).username) ?? '') ? user : PERSON(user)
}

/**
 * Redacts the AdmissionReview of a pod: the values of variables, arguments, headers, annotations that are
 * neither ours nor Kubernetes's, and who the person is that creates it. What is decided about the
 * pod, and the patch, stay the same.
 *
 * @param catalog that the webhook serves: the command and args of its observers stay
 */
export function redactReview(review: Fields, catalog: Catalog): Fields {
  const pod = podRedaction(catalog)
  return redacted(review, fields({ request: fields({ userInfo, object: pod, oldObject: pod }) }))
}

const OBJECT = fields({ metadata: METADATA })

/** Redacts a Namespace, a LimitRange or a ResourceQuota; of who manages which field nothing is left. */
export function redactObject(object: Fields): Fields {
  const { managedFields: _, ...metadata } = fieldsOrNone(object.metadata)
  return redacted({ ...object, metadata }, OBJECT)
}
