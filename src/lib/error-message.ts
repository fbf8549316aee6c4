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
  const [line = ''] = errorMessage(error).split('\n')
  return line
}
