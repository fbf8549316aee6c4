import { createHash } from 'node:crypto'

/**
 * Returns a name for an object of Kubernetes that is equal for equal facts: a hash, which is valid
 * whatever the facts contain.
 */
export function hashedName(facts: readonly (string | null)[]): string {
  const text = JSON.stringify(facts)
  return `ridealong.${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}
