import { dirname } from 'node:path/posix'
import type { Problem } from './problem.ts'

/** The maximum number of files and folders in a folder. */
const MAX_ENTRIES = 25

/** Folders with a smaller limit, because readers open them first. */
const SMALLER: Readonly<Record<string, number>> = { 'src/core': 20 }

/** Folders in which the names are numbers in order, so that groups would only hide some. */
const NUMBERED: readonly string[] = ['docs/contributing/decisions']

/** Finds the folders that contain too many files and folders. */
export function findCrowdedFolders(paths: readonly string[]): readonly Problem[] {
  const entries = new Map<string, Set<string>>()
  for (const path of paths) addEntry(entries, path)
  return [...entries].flatMap(([path, { size }]) => {
    const most = SMALLER[path] ?? MAX_ENTRIES
    if (size <= most || NUMBERED.includes(path)) return []
    const remedy = `group them so that it has at most ${most}`
    return [{ path, message: `the folder has ${size} entries; ${remedy}` }]
  })
}

function addEntry(entries: Map<string, Set<string>>, path: string): void {
  if (path === '.') return
  const folder = dirname(path)
  entries.set(folder, (entries.get(folder) ?? new Set()).add(path))
  addEntry(entries, folder)
}

/** Tests that mirror the files of the code; a tier may stand between (`page.browser.test.ts`). */
const MIRRORED = /^test\/((cli|src|webhook|certs)\/[^.]+)\.(\w+\.)?test\.ts$/

/**
 * Finds the tests of src, webhook and certs that are not named after a module or a folder there:
 * `test/src/core/decide.test.ts` tests `src/core/decide.ts`.
 */
export function findStrayTests(paths: readonly string[]): readonly Problem[] {
  return paths.flatMap((path) => {
    const tested = MIRRORED.exec(path)?.[1]
    if (tested === undefined) return []
    const modules = [`${tested}.ts`, `${tested}.js`]
    const isNamesake = paths.some((one) => modules.includes(one) || one.startsWith(`${tested}/`))
    if (isNamesake) return []
    return [{ path, message: `there is no ${tested}.ts; name the test after its module` }]
  })
}
