import { dirname, join } from 'node:path/posix'
import { findFolderCircles } from './folder-circles.ts'
import type { Problem, SourceFile } from './problem.ts'

/**
 * The folders whose entries import each other in one direction only: the root, with the command on
 * top, the command with its verbs and their shared modules, and the floors of src. Within the other
 * folders, Biome finds circles of modules (noImportCycles).
 */
const FLOORS: readonly string[] = ['', 'cli', 'cli/shared', 'src', 'src/pods', 'src/runs']

/** Finds the floors of which a lower folder imports a higher one. */
export function findClimbingImports(modules: readonly SourceFile[]): readonly Problem[] {
  const imports = modules.flatMap(({ path, text }) =>
    importedPaths(text).map((specifier) => [path, join(dirname(path), specifier)] as const),
  )
  return findFolderCircles(imports)
    .filter(({ folder }) => FLOORS.includes(folder))
    .map(({ entries }) => {
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
