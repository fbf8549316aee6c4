/** The bytes of a text in UTF-8, a character for each. */
export const latin1 = (text: string) => Buffer.from(text).toString('latin1')

/** The same pattern as a JavaScript one, on text that has a character for each byte. */
export function asBytes(pattern: string): RegExp {
  const translated = pattern
    .replaceAll('[[:alpha:]]', '[A-Za-z]')
    .replaceAll('[[:digit:][:punct:]x]', '[0-9!-/:-@\\[-`{-~x]')
    .replaceAll('[]b]', '[\\]b]')
    .replaceAll('[^]]', '[^\\]]')
  return new RegExp(latin1(translated), 's')
}
