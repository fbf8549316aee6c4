/** The sentence of what was thrown, by the system or by a library. */
export function errorMessage(error: unknown): string {
  // A host with several addresses that all refused says so of each, and itself nothing.
  if (error instanceof AggregateError) return error.errors.map(errorMessage).join(', ')
  return error instanceof Error ? error.message : String(error)
}

/** The first line of it: libraries add lines that quote what they read, which may be secret. */
export function firstErrorLine(error: unknown): string {
  const [line = ''] = errorMessage(error).split('\n')
  return line
}
