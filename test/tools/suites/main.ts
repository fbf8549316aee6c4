/** `npm run test:suites` runs programs of others with and without mpi-trace. */
import { globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { Command, Option } from 'commander'
import { openFolder } from '../../observers/pod.ts'
import { buildRecorder, LIBRARIES, type Library } from '../mpi/programs.ts'
import { compareEnds, compiles, endOf, type Verdict } from './ends.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

interface Options {
  readonly library: Library
  readonly ranks: number
  readonly only: string
  readonly include: readonly string[]
  readonly seconds: number
}

const command = new Command('test:suites')
  .description(
    'compiles the MPI programs in C below a folder, and runs each of them twice as it is and ' +
      'once with the recorder of mpi-trace. The exit code, the output that is the same in both ' +
      'plain runs, and time-outs must be equal. Programs that do not compile alone are left out',
  )
  .argument('<folder>', 'a clone of a suite, such as MPI-CorrBench')
  .addOption(
    new Option('--library <name>', 'the MPI library').choices(LIBRARIES).default(LIBRARIES[0]),
  )
  .option('--ranks <n>', 'the number of processes of a program', Number, 2)
  .option('--only <regex>', 'the programs whose path matches', '')
  .option('--include <folders...>', 'folders with header files', [])
  .option('--seconds <n>', 'the time after which a program is killed', Number, 10)
  .addHelpText(
    'after',
    '\nExit code: 0 if the recorder changed no program, otherwise 1.' +
      '\n\nExample:\n  npm run test:suites -- ../MPI-Corrbench --library mpich --only 0-level/coll',
  )
  .action(async (folder: string, options: Options) => {
    process.exitCode = (await runSuite(resolve(folder), options)) ? 0 : 1
  })

/** Runs the programs of a suite. Returns whether the recorder changed none of them. */
async function runSuite(folder: string, options: Options): Promise<boolean> {
  const built = mkdtempSync(join(tmpdir(), 'ridealong-suite-'))
  process.on('exit', () => rmSync(built, { recursive: true, force: true }))
  const recorder = join(built, 'libridealong-mpi.so')
  buildRecorder(recorder)
  const paths = findPrograms(folder, options)
  const counts = new Map<Result, number>()
  for (const [index, path] of paths.entries()) {
    const program = join(built, path.replace(/\.c$/, ''))
    const isBuilt = build(folder, path, program, options)
    const result = isBuilt ? await judge(program, path, recorder, options) : 'does not compile'
    counts.set(result, (counts.get(result) ?? 0) + 1)
    if ((index + 1) % 50 === 0) say(`${index + 1} of ${paths.length} programs`)
  }
  say([...counts].map(([result, count]) => `${result}: ${count}`).join(', '))
  return !counts.has('differs') && counts.has('equal')
}

type Result = Verdict | 'does not compile'

function findPrograms(folder: string, { only }: Options): readonly string[] {
  const found = globSync('**/*.c', { cwd: folder }).filter((path) => RegExp(only).test(path))
  if (found.length === 0) command.error(`error: ${folder} has no program in C that matches --only`)
  return found.sort()
}

function build(folder: string, path: string, program: string, options: Options): boolean {
  mkdirSync(dirname(program), { recursive: true })
  const include = options.include.map((one) => `-I${resolve(one)}`)
  const words = [`mpicc.${options.library}`, '-O1', '-w', '-pthread', ...include, path]
  return compiles([...words, '-o', program, '-lm'], folder)
}

/** The most runs without the recorder of a program that ends otherwise with it. */
const MAX_RUNS = 20

/** Says what the recorder changed in a program. */
async function judge(
  program: string,
  path: string,
  recorder: string,
  { library, ranks, seconds }: Options,
): Promise<Verdict> {
  const words = [`mpirun.${library}`, '-n', String(ranks), program]
  const results = openFolder('ridealong-mpi-results-')
  const env = { LD_PRELOAD: recorder, RIDEALONG_MPI_TRACE: results }
  const plain = [await endOf(words, {}, seconds), await endOf(words, {}, seconds)]
  const recorded = await endOf(words, env, seconds)
  rmSync(results, { recursive: true, force: true })
  // A program may end in several ways by itself.
  while (compareEnds({ plain, recorded }) === 'differs' && plain.length < MAX_RUNS)
    plain.push(await endOf(words, {}, seconds))
  const verdict = compareEnds({ plain, recorded })
  const codes = [...new Set(plain.map(({ code }) => code))].join(' or ')
  const text = `${codes} in ${plain.length} runs, with mpi-trace ${recorded.code}`
  if (verdict !== 'equal') say(`${verdict} ${path}: ${text}`)
  return verdict
}

await command.parseAsync()
