import ts from 'typescript'
import type { Problem, SourceFile } from '../problem.ts'

/** A type that a module exports. */
interface ExportedType {
  readonly name: string
  readonly path: string
  readonly line: number
}

/**
 * Finds types that two modules export under one name: interfaces, type aliases and classes. The
 * problem is the second type in the order of the files. A module that re-exports a type of another
 * module declares no type.
 */
export function findSharedTypeNames(files: readonly SourceFile[]): readonly Problem[] {
  const first = new Map<string, ExportedType>()
  return files.flatMap(exportedTypes).flatMap((type) => {
    const { name, path, line } = type
    const known = first.get(name)
    if (known === undefined) first.set(name, type)
    if (known === undefined || known.path === path) return []
    const other = `${known.path}:${known.line}`
    return [{ path, line, message: `${other} also exports a type ${name}; rename one of them` }]
  })
}

function exportedTypes({ path, text }: SourceFile): readonly ExportedType[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  return source.statements.flatMap((statement) => {
    const name = declaredType(statement)
    if (name === undefined || !isExported(statement)) return []
    const { line } = source.getLineAndCharacterOfPosition(name.getStart(source))
    return [{ name: name.text, path, line: line + 1 }]
  })
}

function declaredType(statement: ts.Statement): ts.Identifier | undefined {
  const isType =
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isClassDeclaration(statement)
  return isType ? statement.name : undefined
}

function isExported(statement: ts.Statement): boolean {
  if (!ts.canHaveModifiers(statement)) return false
  const modifiers = ts.getModifiers(statement) ?? []
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}
