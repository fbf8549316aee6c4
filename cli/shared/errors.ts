import { errorMessage, systemMessage } from '../../src/lib/error-message.ts'

/**
 * An error that a user can correct. The sentences are printed one per line and without a stack, and
 * the exit code is 2.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly sentences: readonly string[]

  constructor(...sentences: readonly [...string[], string]) {
    super(sentences.join('; '))
    this.sentences = sentences
  }
}

/** Exit codes of every verb. */
export const EXIT = {
  /** The command succeeded, and the result is positive. */
  ok: 0,
  /** The command ran, and the result is negative. For example, a log is missing. */
  no: 1,
  /** The command could not run: the command line, a file or the machine has a problem. */
  trouble: 2,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Returns a function that rethrows an error of reading a file or folder as a usage error. */
export function cannotRead(path: string): (error: unknown) => never {
  return (error) => {
    throw new UsageError(`cannot read ${path}: ${systemMessage(error)}`)
  }
}

/** Rethrows an error of the system or a library as a usage error; for use in `catch`. */
export function usageError(error: unknown): never {
  throw new UsageError(errorMessage(error))
}
