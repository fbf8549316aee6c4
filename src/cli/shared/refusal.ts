import { Refusal } from '../../cluster/refusal.ts'
import { errorMessage } from '../../lib/error-message.ts'

/**
 * The apiserver's own words for what it refused, or the system's for what kept it from being asked: for a
 * sentence that says what was tried.
 */
export function describeRefusal(error: unknown): string {
  return error instanceof Refusal ? error.said : errorMessage(error)
}

/** Why the apiserver did not answer, or what it answered: for a sentence that says no more. */
export function describeFailure(error: unknown): string {
  return error instanceof Refusal
    ? error.message
    : `the cluster does not answer: ${errorMessage(error)}`
}
