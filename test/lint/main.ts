/**
 * Checks the rules of the repository that Biome cannot check: `npm run lint`. Prints each problem
 * as `path:line: message`. The exit code is 1 if there are problems.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findClimbingImports } from './climbing-imports.ts'
import { findCrowdedFolders, findStrayTests } from './folders.ts'
import { findLiteralProblems } from './literals.ts'
import { findLongLines } from './long-lines.ts'
import { findLimitNames } from './names/limit-names.ts'
import { findMetricNames } from './names/metric-names.ts'
import { findSharedTypeNames } from './names/type-names.ts'
import { findOutcomeWords } from './outcome-words.ts'
import { type Problem, renderProblem, type SourceFile } from './problem.ts'
import { findProcessUse } from './process-use.ts'
import { findClimbingCrates, findRustCircles } from './rust-imports.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** Returns the paths of all tracked files, and of untracked files that git does not ignore. */
function listFiles(): readonly string[] {
  const words = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate']
  const listed = execFileSync('git', words, { cwd: REPOSITORY, encoding: 'utf8' })
  return listed.split('\0').filter((path) => path !== '' && existsSync(join(REPOSITORY, path)))
}

function readFiles(paths: readonly string[]): readonly SourceFile[] {
  return paths.map((path) => ({ path, text: readFileSync(join(REPOSITORY, path), 'utf8') }))
}

const paths = listFiles()
const modules = paths.filter((path) => /^(cli|src|webhook|certs)\/.*\.ts$/.test(path))
const metrics = paths.flatMap((path) => /^src\/catalog\/([^_]+)\.yaml$/.exec(path)?.[1] ?? [])
const scripts = paths.filter((path) => /^(test|build)\/.*\.ts$/.test(path))
const rust = paths.filter((path) => /^observer\/.*\.(rs|toml)$/.test(path))
const problems: readonly Problem[] = [
  ...findCrowdedFolders(paths),
  ...findStrayTests(paths),
  ...readFiles(paths).flatMap((file) => [
    ...findLongLines(file),
    ...findOutcomeWords(file),
    ...findLimitNames(file),
  ]),
  ...readFiles(modules).flatMap(findProcessUse),
  ...readFiles(modules).flatMap((file) => findMetricNames(file, metrics)),
  ...readFiles([...modules, ...scripts]).flatMap(findLiteralProblems),
  ...findSharedTypeNames(readFiles(modules)),
  ...findClimbingImports(readFiles(modules)),
  ...findRustCircles(readFiles(rust)),
  ...findClimbingCrates(readFiles(rust)),
]
for (const problem of problems) process.stderr.write(`${renderProblem(problem)}\n`)
process.exitCode = problems.length === 0 ? 0 : 1
