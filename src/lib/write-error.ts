import { systemMessage } from './error-message.ts'

/**
 * A file, a folder or a stream cannot be written. The message is a complete sentence for the user,
 * with the path.
 */
export class WriteError extends Error {
  override readonly name = 'WriteError'
}

/**
 * Returns a function for use in `catch`: it throws a WriteError with the file or folder that cannot
 * be written. A WriteError is thrown again as it is.
 */
export function cannotWrite(place: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof WriteError) throw error
    throw new WriteError(`cannot write ${place}: ${systemMessage(error)}`)
  }
}

/** Like `cannotWrite`, for a file that was already opened, or for standard output. */
export function cannotContinue(place: string): (error: unknown) => never {
  return (error) => {
    throw new WriteError(`cannot continue writing ${place}: ${systemMessage(error)}`)
  }
}
