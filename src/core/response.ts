import type { Operation } from './patch.ts'
import { API_VERSION, type Review } from './review.ts'
import { ascii, printable } from './text/printable.ts'

/** An AdmissionReview with a response. JSON omits undefined fields. */
export interface ReviewResponse {
  readonly apiVersion: typeof API_VERSION
  readonly kind: 'AdmissionReview'
  readonly response: { readonly uid: string } & AdmissionVerdict
}

interface AdmissionVerdict {
  readonly allowed: boolean
  readonly status?: { readonly code: 403; readonly reason: 'Forbidden'; readonly message: string }
  readonly patchType?: 'JSONPatch'
  readonly patch?: string
  readonly warnings?: readonly string[] | undefined
}

/**
 * The maximum length of a warning. The apiserver truncates longer warnings (apiserver
 * pkg/endpoints/filters/warning.go). It drops a warning with a control character, because warnings
 * become HTTP headers (apimachinery util/net/http.go). Therefore `ascii` replaces such characters.
 */
const MAX_WARNING_LENGTH = 256

/**
 * The maximum length of the message of a denial: enough for a few sentences. The apiserver returns
 * the message unchanged, whatever its length and characters (apiserver
 * pkg/admission/plugin/webhook/errors/statuserror.go).
 */
const MAX_REFUSAL_LENGTH = 1024

/** Allows the object unchanged. */
export function allow(review: Review, warnings: readonly string[] = []): ReviewResponse {
  return respond(review, { allowed: true, warnings: warned(warnings) })
}

/** Allows the object with a patch, or unchanged if the patch is empty. */
export function allowPatched(
  review: Review,
  operations: readonly Operation[],
  warnings: readonly string[] = [],
): ReviewResponse {
  if (operations.length === 0) return allow(review, warnings)
  const patch = Buffer.from(JSON.stringify(operations)).toString('base64')
  return respond(review, {
    allowed: true,
    patchType: 'JSONPatch',
    patch,
    warnings: warned(warnings),
  })
}

/** Denies the object, with a message for its author. */
export function deny(review: Review, message: string): ReviewResponse {
  const shown = printable(`ridealong: ${message}`, MAX_REFUSAL_LENGTH)
  const status = { code: 403, reason: 'Forbidden', message: shown } as const
  return respond(review, { allowed: false, status })
}

function respond({ uid }: Review, verdict: AdmissionVerdict): ReviewResponse {
  return { apiVersion: API_VERSION, kind: 'AdmissionReview', response: { uid, ...verdict } }
}

function warned(warnings: readonly string[]): readonly string[] | undefined {
  if (warnings.length === 0) return undefined
  return warnings.map((text) => ascii(`ridealong: ${text}`, MAX_WARNING_LENGTH))
}
