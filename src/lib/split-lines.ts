/**
 * The maximum characters of a line. The longest line of an observer is that of its summary in the
 * output of collect, which has some megabytes if a run has thousands of programs.
 */
export const MAX_LINE_LENGTH = 1 << 23

/** Reports whether a line may be a part of a line that {@link splitLines} has split. */
export function isSplit(line: string): boolean {
  return line.length >= MAX_LINE_LENGTH - 1
}

/**
 * Splits a stream of bytes into lines, without their line feeds. A line of more than `longest`
 * characters is returned in parts, as several lines, so that no text can use more memory.
 * node:readline would also split at carriage returns, which progress bars print, and at U+2028,
 * which JSON strings may contain unescaped.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array | string>,
  longest = MAX_LINE_LENGTH,
): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const splitter = new Splitter(longest)
  for await (const chunk of chunks) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    yield* splitter.push(text)
  }
  const last = splitter.takeRest()
  if (last !== '') yield last
}

class Splitter {
  /**
   * The parts of the text since the last line feed. They are joined only once: adding each to one
   * string, and searching this string again, would take time that grows with the square of its
   * length.
   */
  #parts: string[] = []
  #length = 0
  readonly #longest: number

  constructor(longest: number) {
    this.#longest = longest
  }

  *push(text: string): Generator<string> {
    const [first = '', ...others] = text.split('\n')
    this.#add(first)
    for (const next of others) {
      yield* piecesOf(this.takeRest(), this.#longest)
      this.#add(next)
    }
    if (this.#length <= this.#longest) return
    const pieces = [...piecesOf(this.takeRest(), this.#longest)]
    this.#add(pieces.pop() ?? '')
    yield* pieces
  }

  takeRest(): string {
    const text = this.#parts.join('')
    this.#parts = []
    this.#length = 0
    return text
  }

  #add(part: string): void {
    this.#parts.push(part)
    this.#length += part.length
  }
}

/** Returns the parts of a text, of at most `longest` characters each. */
function* piecesOf(text: string, longest: number): Generator<string> {
  let from = 0
  while (text.length - from > longest) {
    // The two halves of a character beyond U+FFFF stay together.
    const isHalf = /[\ud800-\udbff]/.test(text.charAt(from + longest - 1))
    const end = from + longest - (isHalf ? 1 : 0)
    yield text.slice(from, end)
    from = end
  }
  yield text.slice(from)
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
