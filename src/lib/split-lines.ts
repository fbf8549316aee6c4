/**
 * Splits a stream of bytes into lines, without their line feeds. node:readline would also split at
 * carriage returns, which progress bars print, and at U+2028, which JSON strings may contain
 * unescaped.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

/** Joins parts of a text so that each part, except the last one, ends with a line feed. */
export async function* wholeLines(parts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const part of parts) {
    const end = part.lastIndexOf('\n') + 1
    if (end > 0) yield rest + part.slice(0, end)
    rest = end > 0 ? part.slice(end) : rest + part
  }
  if (rest !== '') yield rest
}
