import { Lexer } from 'yaml'

/**
 * Returns the lexemes of a YAML text. Unlike the library, and like libyaml and kubectl, the lines
 * of a quoted scalar, and the lines of a flow collection, may have any indentation, and a carriage
 * return ends a line.
 *
 * @returns lexemes with the lengths that they have in the text
 */
export function lexemes(text: string): Iterable<string> {
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
