import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the recorded reviews. */
export const CASES = fileURLToPath(new URL('.', import.meta.url))

/** The groups of cases. `ridealong test` reads the folder of one group. */
export const GROUPS = ['pods', 'workloads'] as const

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
