/**
 * Readers for unvalidated JSON. Kubernetes calls mutating webhooks before it validates an object
 * (apiserver/pkg/admission), so every field may have any type. The readers in this file return
 * `undefined` or an empty value for a value of the wrong type.
 */

/** A JSON object whose fields have not been checked. */
export type Fields = Readonly<Record<string, unknown>>

const NONE: Fields = Object.freeze({})

/** Returns the value if it is an object, and undefined for null, arrays and scalars. */
export function asFields(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined
}

/** Returns the value if it is an object, and an empty object otherwise. */
export function fieldsOrNone(value: unknown): Fields {
  return asFields(value) ?? NONE
}

/** Parses a text in JSON format; undefined if it is missing or not valid. */
export function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

/** Parses a JSON object; undefined if the text is missing or no object. */
export function parseFields(text: string | undefined): Fields | undefined {
  return asFields(parseJson(text))
}

/** Returns the value if it is an array, and an empty array otherwise. */
export function listOrNone(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns the value if it is a string. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The maximum length of a name in Kubernetes (apimachinery util/validation, DNS1123Subdomain). */
export const MAX_NAME_LENGTH = 253

/**
 * Returns the value if it is a string. Kubernetes does not limit all texts of an object. A longer
 * text is cut, and ends with `...`. Its other characters do not stay in memory.
 *
 * @param longest the maximum length of the result in UTF-16 code units
 */
export function asShortText(value: unknown, longest: number): string | undefined {
  const text = asText(value)
  if (text === undefined || text.length <= longest) return text
  // A part of a string refers to the whole string, so the characters are copied.
  return asText(parseJson(JSON.stringify(`${text.slice(0, longest - 3)}...`)))
}

/** Returns the value if it is a finite number, and null otherwise. */
export function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

/** Returns the value if it is a non-negative safe integer, such as a user or group ID. */
export function asId(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
}

/** Returns the value if it is a boolean. */
export function asFlag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

/** Returns the objects in an array. Other items are skipped. */
export function asObjects(value: unknown): readonly Fields[] {
  return listOrNone(value)
    .map(asFields)
    .filter((item) => item !== undefined)
}
