/**
 * Reading JSON that nobody has validated. A webhook sees an object before Kubernetes has checked a
 * single field of it (apiserver/pkg/admission: mutation comes before validation), so every field
 * may be of any type, and a reader here answers `undefined` where the type is another one.
 */

/** A JSON object whose fields are still to be looked at. */
export type Fields = Readonly<Record<string, unknown>>

const NONE: Fields = Object.freeze({})

/** The object, or undefined for null, arrays and scalars. */
export function asFields(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined
}

/** The object, or an empty one: where "absent" and "not an object" mean the same. */
export function fieldsOrNone(value: unknown): Fields {
  return asFields(value) ?? NONE
}

/** The array, or an empty one. */
export function listOrNone(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The string, or undefined. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The whole number from 0 on (a user or group id), or undefined. */
export function asId(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
}

/** The boolean, or undefined. */
export function asFlag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

/** The objects of the array; what is no object in it is left out. */
export function asObjects(value: unknown): readonly Fields[] {
  return listOrNone(value)
    .map(asFields)
    .filter((item) => item !== undefined)
}
