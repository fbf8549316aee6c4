import {
  Composer,
  type Document,
  Lexer,
  LineCounter,
  type ParsedNode,
  Parser,
  type YAMLParseError,
} from 'yaml'
import { firstErrorLine } from '../../../lib/error-message.ts'
import { at, ManifestError } from '../manifest-error.ts'

/**
 * The maximum nesting depth, which is greater than the depth of any Kubernetes object. The composer
 * of the YAML library is recursive. Node exits without a message if a regular expression in a deep
 * recursion overflows the call stack.
 */
const DEEPEST = 500

/**
 * The options of the YAML library, for the dialect that kubectl reads (sigs.k8s.io/yaml on go-yaml
 * 2). Scalars are text here, because `readMeaning` gives them their values. kubectl takes the last
 * of duplicate keys.
 */
const DIALECT = {
  version: '1.1',
  schema: 'failsafe',
  resolveKnownTags: false,
  uniqueKeys: false,
  keepSourceTokens: true,
  // The library's warnings are suppressed, because they quote the file and go directly to standard
  // error.
  logLevel: 'error',
} as const

type ParsedDocument = Document.Parsed<ParsedNode>

/**
 * Parses the documents of a text.
 *
 * @param lines gets the offsets of all lines
 * @throws ManifestError naming the file, the document and the line of the first error
 */
export function composeDocuments(
  file: string,
  text: string,
  lines: LineCounter,
): readonly ParsedDocument[] {
  const documents = compose(file, text, lines, lexemes)
  const index = documents.findIndex((document) => listErrors(document).length > 0)
  const errors = listErrors(documents[index])
  const [error] = errors
  if (error === undefined) return documents
  // After a missing bracket or quote, the rest of the file is part of one value. The library's own
  // rules find the line at which the value should have ended.
  const isOpen = errors.some(({ message }) =>
    /must (be .* and )?end with|Missing closing/.test(message),
  )
  const strict = isOpen
    ? compose(file, text, new LineCounter(), (part) => new Lexer().lex(part))
    : []
  const first = listErrors(strict[index])[0] ?? error
  const { line } = lines.linePos(first.pos[0])
  throw new ManifestError(at({ file, document: index + 1, line }, message(first)))
}

function compose(
  file: string,
  text: string,
  lines: LineCounter,
  lex: (part: string) => Iterable<string>,
): readonly ParsedDocument[] {
  const composer = new Composer(DIALECT)
  const tokens = []
  // kubectl ends the last line of a file (apimachinery pkg/util/yaml, LineReader).
  const ended = text.endsWith('\n') ? text : `${text}\n`
  let start = 0
  for (const end of [...findJsonEnds(text), ended.length]) {
    const parser = new Parser(lines.addNewLine)
    parser.offset = start
    for (const lexeme of lex(ended.slice(start, end))) {
      tokens.push(...parser.next(lexeme))
      if (parser.stack.length <= DEEPEST) continue
      const document = tokens.filter(({ type }) => type === 'document').length + 1
      const where = { file, document, line: lines.linePos(parser.offset).line }
      throw new ManifestError(at(where, `nested more than ${DEEPEST} levels deep`))
    }
    tokens.push(...parser.end())
    start = end
  }
  return [...composer.compose(tokens, false, text.length)]
}

/** Returns the errors that are also errors of libyaml, which needs no blank before a comment. */
function listErrors(document: ParsedDocument | undefined): readonly YAMLParseError[] {
  const errors = document?.errors ?? []
  return errors.filter((error) => !error.message.startsWith('Comments must be separated'))
}

/**
 * Returns the message of an error, without the position and the text of the file that the library
 * appends.
 */
function message(error: Error): string {
  return firstErrorLine(error).replace(/ at line \d+, column \d+:?$|: ".*$/, '')
}

/**
 * Returns the lexemes of a YAML text. Unlike the library, and like libyaml and kubectl, the lines
 * of a quoted scalar, and the lines of a flow collection, may have any indentation, and a carriage
 * return ends a line.
 *
 * @returns lexemes with the lengths that they have in the text
 */
function lexemes(text: string): Iterable<string> {
  const lexer = new Lexer()
  for (const method of ANY_INDENT) Reflect.set(lexer, method, withAnyIndent(lexer, method))
  return lexer.lex(text.replaceAll(/\r(?!\n)/g, '\n'))
}

/** The methods of the library that end a value at a line with too little indentation. */
const ANY_INDENT = ['parseQuotedScalar', 'parseFlowCollection'] as const

/**
 * Returns a method of a lexer in which no indentation is required. The library keeps the required
 * indentation in the field `indentNext`.
 */
function withAnyIndent(lexer: Lexer, method: (typeof ANY_INDENT)[number]) {
  const parse: () => Generator<string, string | null> = Reflect.get(lexer, method)
  return function* (): Generator<string, string | null> {
    const outside: number = Reflect.get(lexer, 'indentNext')
    Reflect.set(lexer, 'indentNext', 0)
    const next = yield* parse.call(lexer)
    Reflect.set(lexer, 'indentNext', outside)
    return next
  }
}

/**
 * Returns the offsets at which the objects of a JSON stream end, except the last one. kubectl reads
 * several objects without a separator (apimachinery pkg/util/yaml, YAMLOrJSONDecoder).
 *
 * @returns an empty list for one object, and for a text that is not a JSON stream
 */
function findJsonEnds(text: string): readonly number[] {
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
