import { Refusal } from '../../cluster/refusal.ts'
import { errorMessage } from '../../lib/error-message.ts'

/**
 * Returns the apiserver's message for a refusal, or the system's message for a failed request. The
 * caller adds the message to a sentence that names the request.
 */
export function describeRefusal(error: unknown): string {
  return error instanceof Refusal ? error.said : errorMessage(error)
}

/** Describes a refusal or a failed request in a complete sentence. */
export function describeFailure(error: unknown): string {
  return error instanceof Refusal
    ? error.message
    : `the cluster does not answer: ${errorMessage(error)}`
}
