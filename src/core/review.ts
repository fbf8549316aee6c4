import { type BodyScan, UNKNOWN_BODY } from './body-scan.ts'
import { KEYS } from './keys.ts'
import { asText, fieldsOrNone } from './kubernetes/json.ts'

/** The only version that Kubernetes sends (admission.k8s.io/v1beta1 ended with 1.22). */
export const API_VERSION = 'admission.k8s.io/v1'

/**
 * The most bytes of an AdmissionReview: at most two objects of 3 MiB each, and its envelope
 * (controller-runtime pkg/webhook/admission/http.go).
 */
export const LONGEST_BODY = 7 * 1024 * 1024

/** The apiserver makes a UUID, of 36 characters; the answer repeats it. */
const LONGEST_UID = 256

/** The request of an AdmissionReview: what the apiserver asks. */
export interface Review {
  readonly source: BodyScan
  readonly uid: string
  readonly operation: string
  readonly subResource: string
  /** The truth about where the object goes; its own `metadata.namespace` may still be empty. */
  readonly namespace: string
  readonly name: string
  readonly dryRun: boolean
  readonly object: unknown
  readonly oldObject: unknown
}

/**
 * Reads an AdmissionReview.
 *
 * @param source of the body, which spares looks at the pod's annotations
 * @returns the request, or a sentence that says what an AdmissionReview would have
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

/** The uid; nothing for one that is longer than any apiserver makes it. */
function readUid(value: unknown): string | undefined {
  const uid = asText(value)
  return uid !== undefined && uid.length <= LONGEST_UID ? uid : undefined
}

/**
 * Whether a pod leaves it to its namespace to ask. Such a pod is reviewed only where the namespace is
 * armed; a pod with an `inject` of its own is reviewed anywhere.
 */
export function leavesItToNamespace({ object }: Review): boolean {
  const { annotations } = fieldsOrNone(fieldsOrNone(object).metadata)
  return fieldsOrNone(annotations)[KEYS.inject] === undefined
}
