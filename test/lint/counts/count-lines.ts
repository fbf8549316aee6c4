/**
 * Counts the lines of code of the product by folder: `npm run lint:lines [-- COMMIT]`. Empty lines,
 * comments and generated files do not count. Without a commit, the working tree is counted.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { countCodeLines } from './code-lines.ts'

const FOLDERS = ['src', 'cli', 'webhook', 'certs', 'observer']
const LANGUAGES = ['ts', 'rs', 'c', 'h', 'css', 'py']
const LISTED_LINES = 512 * 1024 * 1024

/** Returns the texts of the files of a commit by path, all of them by one process of git. */
function readFolder(folder: string, commits: readonly string[]): ReadonlyMap<string, string> {
  const where = commits.length === 0 ? ['--untracked'] : []
  const words = ['grep', '-Iz', '--full-name', ...where, '', ...commits, '--']
  const paths = LANGUAGES.map((language) => `${folder}/*.${language}`)
  const cwd = join(import.meta.dirname, '../../..')
  const options = { cwd, encoding: 'utf8', maxBuffer: LISTED_LINES } as const
  const files = new Map<string, string>()
  for (const line of execFileSync('git', [...words, ...paths], options).split('\n')) {
    const [path = '', text] = line.split('\0')
    if (text !== undefined) files.set(path, `${files.get(path) ?? ''}${text}\n`)
  }
  return files
}

let total = 0
const say = (count: number, name: string) =>
  process.stdout.write(`${String(count).padStart(7)} ${name}\n`)
for (const folder of FOLDERS) {
  const files = [...readFolder(folder, process.argv.slice(2))]
  const counts = files.map(([path, text]) => countCodeLines({ path, text }))
  const count = counts.reduce((sum, lines) => sum + lines, 0)
  say(count, folder)
  total += count
}
say(total, 'total')
