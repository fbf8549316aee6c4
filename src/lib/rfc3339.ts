/**
 * Returns a time in RFC 3339 format with whole seconds, as meta/v1 Time of Kubernetes has.
 *
 * @param at the time in milliseconds since 1970
 */
export function rfc3339(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}
