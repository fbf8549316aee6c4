import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** The documents for users and contributors, as paths in the repository. */
export const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  '.github/RELEASE.md',
  '.github/SECURITY.md',
  'charts/ridealong/README.md',
  'test/cases/README.md',
  'test/logs/README.md',
  ...readdirSync(join(REPOSITORY, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]

/** Returns the text of a file, given its path in the repository. */
export function textOf(path: string): string {
  return readFileSync(join(REPOSITORY, path), 'utf8')
}
