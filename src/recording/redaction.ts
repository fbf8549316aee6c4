import { asFields, type Fields } from '../core/kubernetes/json.ts'

/** What becomes of a value in a recording. What is not where a rule expects it stays as it is. */
export type Redaction = (value: unknown) => unknown

/** Stands for what was taken out. */
const REDACTED = 'redacted'

/** Takes a value out, whatever it is; what is empty gives nothing away. */
export const taken: Redaction = (value) => (value === '' || value == null ? value : REDACTED)

/** Redacts some fields of an object. The others, and the order of all, stay. */
export function fields(rules: Readonly<Record<string, Redaction>>): Redaction {
  return eachField((key, value) => (Object.hasOwn(rules, key) ? rules[key]?.(value) : value))
}

/** Makes each value of an object anew. */
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

/** Takes all values of a map out. */
export const values: Redaction = eachField((_key, value) => taken(value))

/** The object as a redaction leaves it. */
export function redacted(object: Fields, rule: Redaction): Fields {
  return asFields(rule(object)) ?? {}
}

/**
 * Takes a text out and leaves its size in bytes of UTF-8, where a size decides: Kubernetes bounds the
 * annotations of an object together.
 */
export const takenInSize: Redaction = (value) => {
  if (typeof value !== 'string') return taken(value)
  const size = new TextEncoder().encode(value).length
  return REDACTED.padEnd(size, '.').slice(0, size)
}
