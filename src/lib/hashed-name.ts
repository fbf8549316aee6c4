import { createHash } from 'node:crypto'

/** Returns a hash of a text in 32 hexadecimal digits, which is a valid part of any name. */
export function hexHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/**
 * Returns a name for an object of Kubernetes that is equal for equal facts: a hash, which is valid
 * whatever the facts contain.
 */
export function hashedName(facts: readonly (string | null)[]): string {
  return `ridealong.${hexHash(JSON.stringify(facts))}`
}
