import ts from 'typescript'
import type { SourceFile } from '../problem.ts'

/** Files that a command writes; nobody has to maintain their lines. */
const GENERATED: readonly RegExp[] = [/\.generated\./]

/** The strings and comments of a language; the first group is a string, which is kept. */
const TOKENS: Readonly<Record<string, RegExp>> = {
  c: /("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+')|\/\/.*|\/\*[\s\S]*?\*\//g,
  css: /("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\/\*[\s\S]*?\*\//g,
  py: /(?<=^\s*)"""[\s\S]*?"""|("""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|#.*/gm,
  rs: /(\bb?r(#*)"[\s\S]*?"\2|"(?:\\.|[^"\\])*"|'(?:\\[\s\S]|[^'\\])'|'\\[ux][^']*')|\/\/.*|\/\*[\s\S]*?\*\//g,
}

/** Counts the lines of a file that contain code: lines that are neither empty nor a comment. */
export function countCodeLines({ path, text }: SourceFile): number {
  if (GENERATED.some((pattern) => pattern.test(path))) return 0
  const language = path.slice(path.lastIndexOf('.') + 1)
  if (language === 'ts') return countLinesOfTypeScript(text)
  const pattern = TOKENS[language === 'h' ? 'c' : language]
  if (pattern === undefined) return 0
  const code = text.replace(pattern, (_, string: string | undefined) => string ?? ' ')
  return code.split('\n').filter((line) => line.trim() !== '').length
}

/** Counts the lines with tokens, because only the parser can tell a regular expression. */
function countLinesOfTypeScript(text: string): number {
  const source = ts.createSourceFile('module.ts', text, ts.ScriptTarget.Latest, true)
  return findCodeLines(source, source).size
}

/** Returns the numbers of the lines of a node, counted from 0, that contain code. */
export function findCodeLines(source: ts.SourceFile, node: ts.Node): ReadonlySet<number> {
  const lines = source.text.split('\n')
  const found = new Set<number>()
  const visit = (part: ts.Node) => {
    if (ts.isJSDoc(part)) return
    const parts = part.getChildren(source)
    if (parts.length > 0) return parts.forEach(visit)
    const last = source.getLineAndCharacterOfPosition(part.getEnd()).line
    let { line } = source.getLineAndCharacterOfPosition(part.getStart(source))
    for (; line <= last; line += 1) found.add(line)
  }
  visit(node)
  return new Set([...found].filter((line) => lines[line]?.trim() !== ''))
}
