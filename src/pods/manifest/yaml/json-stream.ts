/**
 * Returns the offsets at which the objects of a JSON stream end, except the last one. kubectl reads
 * several objects without a separator (apimachinery pkg/util/yaml, YAMLOrJSONDecoder).
 *
 * @returns an empty list for one object, and for a text that is not a JSON stream
 */
export function findJsonEnds(text: string): readonly number[] {
  const ends: number[] = []
  let offset = skipBlanks(text, text.startsWith('\ufeff') ? 1 : 0)
  while (text[offset] === '{') {
    const end = findObjectEnd(text, offset)
    if (end === undefined) return []
    ends.push(end)
    offset = skipBlanks(text, end)
  }
  return offset === text.length ? ends.slice(0, -1) : []
}

function skipBlanks(text: string, offset: number): number {
  const blanks = /[ \t\r\n]*/y
  blanks.lastIndex = offset
  blanks.exec(text)
  return blanks.lastIndex
}

/** Returns the offset after the object that starts at an offset; undefined if it has no end. */
function findObjectEnd(text: string, start: number): number | undefined {
  // A string, or a brace or bracket.
  const part = /"(?:[^"\\]|\\.)*"|[{}[\]]/gs
  part.lastIndex = start
  let depth = 0
  for (let found = part.exec(text); found !== null; found = part.exec(text)) {
    if (/^[{[]/.test(found[0])) depth += 1
    if (/^[}\]]/.test(found[0])) depth -= 1
    if (depth === 0) return part.lastIndex
  }
  return undefined
}
