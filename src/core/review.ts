import { type BodyScan, UNKNOWN_BODY } from './body-scan.ts'
import { KEYS } from './keys.ts'
import { asText, fieldsOrNone } from './kubernetes/json.ts'

/** The only version that Kubernetes sends (admission.k8s.io/v1beta1 was removed in 1.22). */
export const API_VERSION = 'admission.k8s.io/v1'

/**
 * The maximum size of an AdmissionReview in bytes: two objects of at most 3 MiB each, and the
 * envelope (controller-runtime pkg/webhook/admission/http.go).
 */
export const MAX_BODY_BYTES = 7 * 1024 * 1024

/**
 * The maximum length of a UID. The apiserver sends a UUID of 36 characters, and the response
 * repeats the UID.
 */
const MAX_UID_LENGTH = 256

/** The request of an AdmissionReview. */
export interface Review {
  readonly source: BodyScan
  readonly uid: string
  readonly operation: string
  readonly subResource: string
  /** The namespace of the request. The object's own `metadata.namespace` may still be empty. */
  readonly namespace: string
  readonly name: string
  readonly dryRun: boolean
  readonly object: unknown
  readonly oldObject: unknown
}

/**
 * Reads an AdmissionReview.
 *
 * @param source a scan of the body; its count of Ridealong's keys can show that most annotations of
 * the pod need not be searched
 * @returns the request, or a sentence with the requirement that the AdmissionReview does not meet
 */
export function readReview(
  body: unknown,
  source = UNKNOWN_BODY,
): Review | { readonly problem: string } {
  const review = fieldsOrNone(body)
  if (review.kind !== 'AdmissionReview') return { problem: 'kind must be "AdmissionReview"' }
  if (review.apiVersion !== API_VERSION) return { problem: `apiVersion must be "${API_VERSION}"` }
  const request = fieldsOrNone(review.request)
  const uid = readUid(request.uid)
  const operation = asText(request.operation)
  if (!uid || !operation) return { problem: 'request must have uid and operation' }
  const metadata = fieldsOrNone(fieldsOrNone(request.object).metadata)
  return {
    source,
    uid,
    operation,
    subResource: asText(request.subResource) ?? '',
    namespace: asText(request.namespace) ?? '',
    name: asText(request.name || metadata.name || metadata.generateName) ?? '',
    dryRun: request.dryRun === true,
    object: request.object,
    oldObject: request.oldObject,
  }
}

/** Returns the UID, or undefined if it is missing or too long. */
function readUid(value: unknown): string | undefined {
  const uid = asText(value)
  return uid !== undefined && uid.length <= MAX_UID_LENGTH ? uid : undefined
}

/**
 * Reports whether a pod has no `inject` annotation of its own. Such a pod is reviewed only if its
 * namespace is armed (has the label `ridealong.dev/armed=true`). A pod with its own `inject`
 * annotation is reviewed in every namespace that is not excluded.
 */
export function leavesItToNamespace({ object }: Review): boolean {
  const { annotations } = fieldsOrNone(fieldsOrNone(object).metadata)
  return fieldsOrNone(annotations)[KEYS.inject] === undefined
}
