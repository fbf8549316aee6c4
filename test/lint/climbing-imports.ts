import { dirname, join } from 'node:path/posix'
import { findCircle, findFolderCircles, type Imports } from './folder-circles.ts'
import type { Problem, SourceFile } from './problem.ts'

/**
 * The folders whose entries import each other in one direction only: the root, with the command on
 * top, the command with its verbs and their shared modules, and the floors of src.
 */
const FLOORS: readonly string[] = ['', 'cli', 'cli/shared', 'src', 'src/pods', 'src/runs']

/**
 * Finds the floors of which a lower folder imports a higher one, and a circle of modules. Unlike
 * Biome (noImportCycles), it counts imports of types and dynamic imports.
 */
export function findClimbingImports(modules: readonly SourceFile[]): readonly Problem[] {
  const imports = modules.flatMap(({ path, text }) =>
    importedPaths(text).map((specifier) => [path, join(dirname(path), specifier)] as const),
  )
  const floors = findFolderCircles(imports).filter(({ folder }) => FLOORS.includes(folder))
  const files: Imports = new Map()
  for (const [from, to] of imports) files.set(from, (files.get(from) ?? new Set()).add(to))
  const circle = findCircle(files)
  return [...floors.map(({ entries }) => entries), ...(circle ? [circle] : [])].map((entries) => {
    const names = entries.join(' → ')
    const message = `the imports form a circle: ${names}; import in one direction only`
    return { path: entries[0] ?? '', message }
  })
}

/** Returns the relative paths that a module imports, also those of types and dynamic imports. */
function importedPaths(text: string): readonly string[] {
  const found = text.matchAll(/\b(?:from |import\()'(\.[^']+)'/g)
  return [...found].map(([, specifier = '']) => specifier)
}
