import { fieldsOrNone, textOf } from './core/json.ts'

/** The sentence in a body that may be a Status (meta/v1), which is how an apiserver says no. */
export function messageOf(body: string): string | undefined {
  try {
    return textOf(fieldsOrNone(JSON.parse(body)).message)
  } catch {
    return undefined
  }
}
