/** Entries of a folder, files and folders, that import each other in a circle. */
export interface FolderCircle {
  /** The path of the folder; empty for the root. */
  readonly folder: string
  /** The paths of the entries. The first entry is there again at the end. */
  readonly entries: readonly string[]
}

/** Which entries of a folder, or which files, an entry imports, by the paths of both. */
export type Imports = Map<string, Set<string>>

/**
 * Finds the folders whose entries do not import each other in one direction only, and one circle in
 * each. If there is no such folder, the modules have no circle either.
 *
 * @param imports pairs of the path of a module and the path of a module that it imports
 */
export function findFolderCircles(
  imports: readonly (readonly [string, string])[],
): readonly FolderCircle[] {
  const folders = new Map<string, Imports>()
  for (const [from, to] of imports) addImport(folders, from, to)
  return [...folders].flatMap(([folder, between]) => {
    const entries = findCircle(between)
    return entries === undefined ? [] : [{ folder, entries }]
  })
}

/** Adds an import between two files to the folder in which their paths part. */
function addImport(folders: Map<string, Imports>, from: string, to: string): void {
  const [left, right] = [from.split('/'), to.split('/')]
  const parting = left.findIndex((name, at) => name !== right[at])
  if (parting < 0) return
  const folder = left.slice(0, parting).join('/')
  const imports: Imports = folders.get(folder) ?? new Map()
  folders.set(folder, imports)
  const [importer, imported] = [left, right].map((names) => names.slice(0, parting + 1).join('/'))
  if (importer === undefined || imported === undefined) return
  imports.set(importer, (imports.get(importer) ?? new Set()).add(imported))
}

/** Returns the entries of a circle, with the first entry again at the end. */
export function findCircle(imports: Imports): readonly string[] | undefined {
  const remaining = withoutLeaves(imports)
  const path: string[] = []
  for (let entry = [...remaining.keys()][0]; entry !== undefined; ) {
    if (path.includes(entry)) return [...path.slice(path.indexOf(entry)), entry]
    path.push(entry)
    entry = [...(remaining.get(entry) ?? [])].find((one) => remaining.has(one))
  }
  return undefined
}

/** Removes the entries that import no other entry, until each entry imports one that remains. */
function withoutLeaves(imports: Imports): Imports {
  const remaining = [...imports].filter(([, imported]) =>
    [...imported].some((entry) => imports.has(entry)),
  )
  return remaining.length === imports.size ? imports : withoutLeaves(new Map(remaining))
}
