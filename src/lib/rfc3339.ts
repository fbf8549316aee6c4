/**
 * Returns a time in RFC 3339 format with whole seconds, as meta/v1 Time of Kubernetes has.
 *
 * @param at the time in milliseconds since 1970
 */
export function rfc3339(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}

/**
 * Returns a time in RFC 3339 format with milliseconds; null if it is not known.
 *
 * @param at the time in milliseconds since 1970
 */
export function timeOrNull(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

/** Returns a time in milliseconds since 1970; null if it is missing or invalid. */
export function readTime(written: unknown): number | null {
  const time = typeof written === 'string' ? Date.parse(written) : Number.NaN
  return Number.isNaN(time) ? null : time
}
