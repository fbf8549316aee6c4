import { asFields, type Fields } from '../../core/kubernetes/json.ts'

/**
 * Returns the redacted form of a value. A value whose type does not match the rule is returned
 * unchanged.
 */
export type Redaction = (value: unknown) => unknown

/** The replacement for a redacted value. */
const REDACTED = 'redacted'

/** Replaces a value of any type. Empty values are kept, because they reveal nothing. */
export const taken: Redaction = (value) => (value === '' || value == null ? value : REDACTED)

/** Redacts some fields of an object. The other fields and the order of all fields are unchanged. */
export function fields(rules: Readonly<Record<string, Redaction>>): Redaction {
  return eachField((key, value) => (Object.hasOwn(rules, key) ? rules[key]?.(value) : value))
}

/** Replaces each value of an object. */
export function eachField(make: (key: string, value: unknown) => unknown): Redaction {
  return (object) => {
    const entries = Object.entries(asFields(object) ?? {})
    return asFields(object) === undefined
      ? object
      : Object.fromEntries(entries.map(([key, value]) => [key, make(key, value)]))
  }
}

/** Redacts each item of a list. */
export function items(rule: Redaction): Redaction {
  return (list) => (Array.isArray(list) ? list.map(rule) : list)
}

/** Redacts all values of a map. */
export const values: Redaction = eachField((_key, value) => taken(value))

/** Returns the redacted object. */
export function redacted(object: Fields, rule: Redaction): Fields {
  return asFields(rule(object)) ?? {}
}

/**
 * Replaces a string with a string of the same size in bytes of UTF-8. The size of an annotation
 * affects a decision: Kubernetes limits the total size of an object's annotations.
 */
export const takenInSize: Redaction = (value) => {
  if (typeof value !== 'string') return taken(value)
  const size = new TextEncoder().encode(value).length
  return REDACTED.padEnd(size, '.').slice(0, size)
}
