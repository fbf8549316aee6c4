/** Returns the message of a thrown value. */
export function errorMessage(error: unknown): string {
  // A connection to a host with several addresses throws an AggregateError, whose own message is
  // empty if every address refused the connection.
  if (error instanceof AggregateError) return error.errors.map(errorMessage).join(', ')
  return error instanceof Error ? error.message : String(error)
}

/**
 * Returns the first line of the error message. Libraries add lines that quote the input, which may
 * be secret.
 */
export function firstErrorLine(error: unknown): string {
  const [line = ''] = systemMessage(error).split('\n')
  return line
}

/**
 * Returns the message of an error of the system, with the code at its end: `no space left on device
 * (ENOSPC)`. Node begins the message with the code, and ends it with the system call and the path.
 */
export function systemMessage(error: unknown): string {
  const message = errorMessage(error)
  const [, code, words] = /^([A-Z][A-Z0-9]+): (.+?)(?:, \w+(?: .*)?)?$/s.exec(message) ?? []
  return code === undefined ? message : `${words} (${code})`
}
