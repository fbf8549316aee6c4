/** Returns the UTF-8 bytes of a text, as one character for each byte. */
export const latin1 = (text: string) => Buffer.from(text).toString('latin1')

/**
 * Translates a target-command of the tests to a JavaScript regular expression, for text with one
 * character for each byte.
 */
export function asBytes(pattern: string): RegExp {
  const translated = pattern
    .replaceAll('[[:alpha:]]', '[A-Za-z]')
    .replaceAll('[[:digit:][:punct:]x]', '[0-9!-/:-@\\[-`{-~x]')
    .replaceAll('[]b]', '[\\]b]')
    .replaceAll('[^]]', '[^\\]]')
  return new RegExp(latin1(translated), 's')
}
