/** `npm run test:mutants` changes the program in one place at a time, and runs `npm test`. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { applyMutation, findMutations, type Mutation } from './mutations.ts'
import { filesOfTier } from './tiers.ts'

const REPOSITORY = join(import.meta.dirname, '../..')
/** Outside of node_modules, in which tap finds no tests. */
const COPY = mkdtempSync(join(tmpdir(), 'ridealong-mutants-'))

/** Modules that run only in a browser, whose tests are not in `npm test`. */
const PAGES = /^src\/runs\/(\w+)\/page\//

/** The commands that ran without a mutant, and whether their tests passed. */
const passing = new Map<string, boolean>()

const say = (line: string) => process.stdout.write(`${line}\n`)

interface Mutant {
  readonly path: string
  readonly source: string
  readonly mutation: Mutation
}

new Command('mutants')
  .description(
    'changes the committed program in one place at a time, and tells whether npm test notices it',
  )
  .option('--count <n>', 'the number of mutants', Number, 40)
  .option('--seed <n>', 'the seed that draws the mutants', Number, Date.now() % 2 ** 31)
  .addHelpText(
    'after',
    '\nExit code: 0 if npm test notices 9 of 10 mutants, otherwise 1. Takes an hour.' +
      '\n\nExample:\n  npm run test:mutants -- --count 40 --seed 1',
  )
  .action(({ count, seed }: { readonly count: number; readonly seed: number }) => {
    say(`seed ${seed}`)
    copyRepository()
    process.on('exit', removeCopy)
    const noticed = draw(count, seed).filter(isNoticed).length
    say(`noticed ${noticed} of ${count}`)
    process.exitCode = noticed >= 0.9 * count ? 0 : 1
  })
  .parse()

/** Makes a copy of the last commit, in which modules can be changed. */
function copyRepository(): void {
  const git = (...words: readonly string[]) => execFileSync('git', words, { cwd: REPOSITORY })
  git('worktree', 'add', '--quiet', '--detach', COPY)
  symlinkSync(join(REPOSITORY, 'node_modules'), join(COPY, 'node_modules'))
}

function removeCopy(): void {
  rmSync(COPY, { recursive: true })
  execFileSync('git', ['worktree', 'prune'], { cwd: REPOSITORY })
}

/** Draws mutants from src, cli and webhook. Each mutation is drawn with the same probability. */
function draw(count: number, seed: number): readonly Mutant[] {
  const all = globSync('{src,cli,webhook}/**/*.ts', { cwd: COPY })
    .filter((path) => !PAGES.test(path))
    .toSorted()
    .flatMap((path) => {
      const source = readFileSync(join(COPY, path), 'utf8')
      return findMutations(source).map((mutation) => ({ path, source, mutation }))
    })
  say(`${all.length} mutations`)
  return Array.from(
    { length: count },
    (_, index) => all[drawNumber(seed, index) % all.length],
  ).filter((mutant) => mutant !== undefined)
}

/** Returns the number at an index of the random numbers of a seed, from 0 to 2^32 - 1. */
function drawNumber(seed: number, index: number): number {
  return createHash('sha256').update(`${seed} ${index}`).digest().readUInt32BE()
}

/** Runs the tests of the module's folder, and then all of `npm test`, until one fails. */
function isNoticed({ path, source, mutation }: Mutant): boolean {
  const folder = `${dirname(path)}/`
  const near = filesOfTier('node').filter((file) => file.startsWith(folder))
  const commands = [
    ...(near.length > 0 ? [['node_modules/.bin/tap', ...near.map((file) => `test/${file}`)]] : []),
    ['test/tiers/run.ts'],
  ]
  const isNoticed = commands.some((command) => {
    writeFileSync(join(COPY, path), applyMutation(source, mutation))
    const isFailed = fails([...command, '--bail'])
    writeFileSync(join(COPY, path), source)
    if (isFailed && !passesUnchanged(command))
      throw new Error(`the tests also fail without a mutant: ${command.join(' ')}`)
    return isFailed
  })
  const line = source.slice(0, mutation.start).split('\n').length
  const before = source.slice(mutation.start, mutation.end)
  say(`${isNoticed ? 'noticed' : 'MISSED '} ${path}:${line}: ${before} becomes ${mutation.text}`)
  return isNoticed
}

/** Whether the tests of a command pass without a mutant. */
function passesUnchanged(command: readonly string[]): boolean {
  const key = command.join(' ')
  const passes = passing.get(key) ?? !fails(command)
  passing.set(key, passes)
  return passes
}

/** Whether a program fails in the copy. A test that does not end fails after five minutes. */
function fails(words: readonly string[]): boolean {
  const env = { ...process.env, TAP_TIMEOUT: '300' }
  return spawnSync(process.execPath, words, { cwd: COPY, env, stdio: 'ignore' }).status !== 0
}
