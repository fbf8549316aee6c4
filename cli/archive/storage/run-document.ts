/** Parses the text of a file in JSON format; undefined if it is missing or not valid. */
export function parseDocument(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}
