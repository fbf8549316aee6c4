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
import { findJsonEnds } from './json-stream.ts'
import { lexemes } from './lexemes.ts'

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
