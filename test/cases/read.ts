import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the recorded reviews. */
export const CASES = fileURLToPath(new URL('.', import.meta.url))

/** The folder of the catalog of each group of cases. `ridealong test` reads one group. */
const CATALOGS = {
  pods: 'catalog',
  workloads: 'catalog',
  'tools-installed': 'catalog-tools-installed',
  'tools-mounted': 'catalog-tools-mounted',
} as const

export type Group = keyof typeof CATALOGS

/** The groups of cases. */
export const GROUPS = Object.keys(CATALOGS) as readonly Group[]

/** The names of the folders of catalogs. */
export const CATALOG_FOLDERS: ReadonlySet<string> = new Set(Object.values(CATALOGS))

/** Returns the folder of the catalog of a group. */
export function catalogFolder(group: Group): string {
  return join(CASES, CATALOGS[group])
}

/** The file with the Namespaces of the recorded pods. */
export const CASE_NAMESPACES = join(CASES, 'namespaces.yaml')

const FOLDERS: ReadonlyMap<string, string> = new Map(
  GROUPS.flatMap((group) => {
    const names = readdirSync(join(CASES, group))
    return names.map((name): [string, string] => [name, join(CASES, group, name)])
  }),
)

/** The names of all cases, sorted. */
export const CASE_NAMES: readonly string[] = [...FOLDERS.keys()].sort()

/**
 * Returns the folder of a case.
 *
 * @throws an error if no case has this name
 */
export function caseFolder(name: string): string {
  const folder = FOLDERS.get(name)
  if (folder === undefined) throw new Error(`${CASES} has no case ${name}`)
  return folder
}

/** Returns the group of a case. */
export function groupOf(name: string): Group {
  const folder = caseFolder(name)
  const found = GROUPS.find((group) => folder === join(CASES, group, name))
  if (found === undefined) throw new Error(`no group has the case ${name}`)
  return found
}

/** Returns the path of the review of a case. */
export function reviewFile(name: string): string {
  return join(caseFolder(name), 'review.json')
}

/** Returns the text of the review of a case. */
export function recorded(name: string): string {
  return readFileSync(reviewFile(name), 'utf8')
}

/** Returns the path of the golden answer of a case. */
export function answerFile(name: string): string {
  return join(caseFolder(name), 'answer.json')
}
