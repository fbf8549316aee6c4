import ts from 'typescript'
import { findCodeLines } from './counts/code-lines.ts'
import type { Problem, SourceFile } from './problem.ts'

/** The maximum number of lines of a function, without the lines of data in it. */
const MAX_LINES = 40

/**
 * Finds functions that are too long, and literals that are spread into a literal only to stay on
 * one line, except in tests. Empty lines and comments do not count. Of a function in an object, and
 * of a list or an object without functions, which is data, only the first line counts.
 */
export function findLiteralProblems({ path, text }: SourceFile): readonly Problem[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const isProduct = !path.startsWith('test/')
  const problems: Problem[] = []
  const visit = (node: ts.Node) => {
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1
    const lines = isFunctionWithBody(node) ? countLines(source, node.body) : 0
    if (lines > MAX_LINES) problems.push({ path, line, message: tooLong(lines) })
    if (isProduct && isSpreadLiteral(node)) problems.push({ path, line, message: SPREAD })
    ts.forEachChild(node, visit)
  }
  visit(source)
  return problems
}

/** Counts the lines of code of a body between its braces. */
function countLines(source: ts.SourceFile, body: ts.Node): number {
  const lineOf = (at: number) => source.getLineAndCharacterOfPosition(at).line
  const [first, last] = [lineOf(body.getStart(source)), lineOf(body.end)]
  if (last - first <= MAX_LINES) return 0
  const code = new Set(findCodeLines(source, body))
  const visit = (node: ts.Node) => {
    const isData = isLiteral(node) && !hasFunction(node)
    if (!isData && !isMember(node)) ts.forEachChild(node, visit)
    else dropLines(code, lineOf(node.getStart(source)) + 1, lineOf(node.end))
  }
  visit(body)
  return [...code].filter((line) => line > first && line < last).length
}

/** Reports whether a node is a function that is a member of an object. */
function isMember(node: ts.Node): boolean {
  if (ts.isPropertyAssignment(node)) return ts.isFunctionLike(node.initializer)
  return ts.isMethodDeclaration(node) || ts.isAccessor(node)
}

function dropLines(lines: Set<number>, from: number, to: number): void {
  for (let line = from; line <= to; line += 1) lines.delete(line)
}

function isFunctionWithBody(node: ts.Node): node is ts.FunctionLikeDeclaration & { body: ts.Node } {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined
}

const SPREAD = 'the literal is spread into another one; write its members there'

function tooLong(lines: number): string {
  return `the function has ${lines} lines without data; divide it, so that it has ${MAX_LINES}`
}

function isLiteral(node: ts.Node): boolean {
  return ts.isObjectLiteralExpression(node) || ts.isArrayLiteralExpression(node)
}

function isSpreadLiteral(node: ts.Node): boolean {
  const isSpread = ts.isSpreadAssignment(node) || ts.isSpreadElement(node)
  return isSpread && isLiteral(node.parent) && isLiteral(node.expression)
}

function hasFunction(node: ts.Node): boolean {
  return ts.isFunctionLike(node) || ts.forEachChild(node, hasFunction) === true
}
