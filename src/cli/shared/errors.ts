import { errorMessage } from '../../lib/error-message.ts'

/** What a person can mend: it is said in sentences, a line each, without a stack, and the exit code is 2. */
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
  /** Done, and the answer is yes. */
  ok: 0,
  /** Done, and the answer is no: a golden differs, a log is missing. */
  no: 1,
  /** Not done: the command line, a file or the machine stands in the way. */
  trouble: 2,
} as const

/** Says as a usage error what stood in the way of the system or a library: for `catch`. */
export function usageError(error: unknown): never {
  throw new UsageError(errorMessage(error))
}
