import { ApiError } from '../../src/cluster/api-error.ts'
import { errorMessage } from '../../src/lib/error-message.ts'

/**
 * Returns the apiserver's message for its error, or the system's message for a failed request. The
 * caller adds the message to a sentence that names the request.
 */
export function describeApiError(error: unknown): string {
  return error instanceof ApiError ? error.said : errorMessage(error)
}

/** Describes an error of the apiserver or a failed request in a complete sentence. */
export function describeFailure(error: unknown): string {
  return error instanceof ApiError
    ? error.message
    : `the cluster does not answer: ${errorMessage(error)}`
}
