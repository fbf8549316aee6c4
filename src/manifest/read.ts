import { Composer, type Document, Lexer, LineCounter, type ParsedNode, Parser } from 'yaml'
import { firstErrorLine } from '../lib/error-message.ts'
import { at, ManifestError, type ManifestPosition } from './manifest-error.ts'

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
}

/**
 * The maximum nesting depth, which is greater than the depth of any Kubernetes object. The composer
 * of the YAML library is recursive. Node exits without a message if a regular expression in a deep
 * recursion overflows the call stack.
 */
const DEEPEST = 500

/** The maximum number of alias expansions in a document. */
const MOST_ALIASES = 100

/**
 * The YAML dialect that kubectl reads (sigs.k8s.io/yaml on go-yaml 2): version 1.1, in which `yes`
 * is true, 0644 is octal, and `<<` merges.
 */
export const DIALECT = {
  version: '1.1',
  merge: true,
  keepSourceTokens: true,
  // The library's warnings are suppressed, because they quote the file and go directly to standard
  // error.
  logLevel: 'error',
} as const

/**
 * Reads the documents of a file of YAML or JSON.
 *
 * @throws ManifestError naming the file, the document and the line of the first error
 */
export function readManifests(file: string, text: string): readonly Manifest[] {
  const lines = new LineCounter()
  lines.addNewLine(0)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const nodes = composed(file, text, lines)
  return nodes.map((node, index) => {
    const start = nodes[index - 1]?.range[2] ?? 0
    const end = index === nodes.length - 1 ? text.length : node.range[2]
    const { line } = lines.linePos(node.contents?.range[0] ?? start)
    const place = { file, document: index + 1, line }
    const [error] = node.errors
    if (error !== undefined) {
      const where = { ...place, line: lines.linePos(error.pos[0]).line }
      throw new ManifestError(at(where, withoutPlace(firstErrorLine(error))))
    }
    const isJson = isJsonText(text.slice(start, end))
    const value = readMeaning(place, node)
    return { ...place, text, start, end, node, value, lines, eol, isJson }
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

function composed(
  file: string,
  text: string,
  lines: LineCounter,
): readonly Document.Parsed<ParsedNode>[] {
  const parser = new Parser(lines.addNewLine)
  const composer = new Composer(DIALECT)
  const tokens = []
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme))
    if (parser.stack.length <= DEEPEST) continue
    const document = tokens.filter(({ type }) => type === 'document').length + 1
    const where = { file, document, line: lines.linePos(parser.offset).line }
    throw new ManifestError(at(where, `nested more than ${DEEPEST} levels deep`))
  }
  tokens.push(...parser.end())
  return [...composer.compose(tokens, false, text.length)]
}

function readMeaning(place: ManifestPosition, node: Document.Parsed): unknown {
  try {
    return node.toJS({ maxAliasCount: MOST_ALIASES })
  } catch (error) {
    throw new ManifestError(at(place, withoutPlace(firstErrorLine(error))))
  }
}

/** Removes the position that the library appends to its messages. */
function withoutPlace(line: string): string {
  return line.replace(/ at line \d+, column \d+:?$/, '')
}
