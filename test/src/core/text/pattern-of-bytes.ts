/** Returns the UTF-8 bytes of a text, as one character for each byte. */
export const latin1 = (text: string) => Buffer.from(text).toString('latin1')

/**
 * Translates a target-command that the tests use to a JavaScript regular expression. The expression
 * matches texts with one character for each byte, as `latin1` returns them.
 */
export function asBytes(pattern: string): RegExp {
  const translated = pattern
    .replaceAll('[[:alpha:]]', '[A-Za-z]')
    .replaceAll('[[:digit:][:punct:]x]', '[0-9!-/:-@\\[-`{-~x]')
    .replaceAll('[]b]', '[\\]b]')
    .replaceAll('[^]]', '[^\\]]')
  return new RegExp(latin1(translated), 's')
}
