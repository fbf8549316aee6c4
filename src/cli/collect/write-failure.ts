import { systemMessage } from '../../lib/error-message.ts'
import { UsageError } from '../shared/errors.ts'

/**
 * Returns a function for use in `catch`: it throws a UsageError with the file or folder that cannot
 * be written. A UsageError is thrown again as it is.
 */
export function cannotWrite(place: string | undefined): (error: unknown) => never {
  return (error) => {
    if (error instanceof UsageError) throw error
    throw new UsageError(`cannot write ${place}: ${systemMessage(error)}`)
  }
}

/** Like `cannotWrite`, for a file that was already opened, or for standard output. */
export function cannotContinue(place: string): (error: unknown) => never {
  return (error) => {
    throw new UsageError(`cannot continue writing ${place}: ${systemMessage(error)}`)
  }
}
