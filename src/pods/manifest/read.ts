import { type Document, LineCounter, type ParsedNode } from 'yaml'
import type { Fields } from '../../core/kubernetes/json.ts'
import { at, ManifestError, type ManifestPosition } from './manifest-error.ts'
import { composeDocuments } from './yaml/compose.ts'
import { MeaningError, readMeaning } from './yaml/meaning.ts'

/** The OpenAPI schemas of kinds, by API version and kind, such as `example.com/v1/Thing`. */
export type KindSchemas = ReadonlyMap<string, Fields>

/** A document of a manifest file, as text and as the parsed value. */
export interface Manifest extends ManifestPosition {
  /** The text of the whole file; the offsets of nodes are relative to it. */
  readonly text: string
  /** The offset at which the document starts, including the markers and comments before it. */
  readonly start: number
  readonly end: number
  readonly node: Document.Parsed<ParsedNode>
  readonly value: unknown
  readonly lines: LineCounter
  /** The line break of the file. */
  readonly eol: '\n' | '\r\n'
  readonly isJson: boolean
  /** The schemas of kinds that are not built in, as far as they are known. */
  readonly schemas: KindSchemas
}

/**
 * Reads the documents of a file of YAML or JSON.
 *
 * @throws ManifestError naming the file, the document and the line of the first error
 */
export function readManifests(file: string, text: string): readonly Manifest[] {
  const lines = new LineCounter()
  lines.addNewLine(0)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const nodes = composeDocuments(file, text, lines)
  return nodes.map((node, index) => {
    const start = nodes[index - 1]?.range[2] ?? 0
    const end = index === nodes.length - 1 ? text.length : node.range[2]
    const { line } = lines.linePos(node.contents?.range[0] ?? start)
    const place = { file, document: index + 1, line }
    const isJson = isJsonText(text.slice(start, end))
    const value = readValue(node, place, lines)
    return { ...place, text, start, end, node, value, lines, eol, isJson, schemas: new Map() }
  })
}

/** Reports whether a text is JSON. Only text that begins with a brace or bracket is parsed. */
function isJsonText(text: string): boolean {
  try {
    return /^\ufeff?\s*[{[]/.test(text) && JSON.parse(text.replace('\ufeff', '')) !== undefined
  } catch {
    return false
  }
}

function readValue(node: Document.Parsed, place: ManifestPosition, lines: LineCounter): unknown {
  try {
    return readMeaning(node)
  } catch (error) {
    if (!(error instanceof MeaningError)) throw error
    const { line } = lines.linePos(error.offset)
    throw new ManifestError(at({ ...place, line }, error.message))
  }
}
