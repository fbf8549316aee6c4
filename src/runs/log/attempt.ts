// The names of the logs of earlier attempts: of containers that the kubelet has started again. The
// first start of a container is its attempt 1.

/**
 * Returns the source of the log of an attempt, or the name of its file.
 *
 * @param attempt null for the last attempt
 */
export function attemptName(name: string, separator: '/' | '.', attempt: number | null): string {
  return attempt === null ? name : `${name}${separator}attempt-${attempt}`
}

/** A log of an earlier attempt. */
export interface EarlierAttempt {
  /** The source of the log of the last attempt. */
  readonly last: string
  readonly attempt: number
}

/** The end of the source of an earlier attempt, or of the name of its file. */
const EARLIER = /^(.+)[/.]attempt-(\d{1,9})((?:\.log|\.jsonl)?(?:\.gz)?)$/

/** Reads the source or the file of a log. Returns undefined if it is that of the last attempt. */
export function readAttempt(source: string): EarlierAttempt | undefined {
  const [, name, attempt, suffix = ''] = EARLIER.exec(source) ?? []
  return name === undefined ? undefined : { last: name + suffix, attempt: Number(attempt) }
}
