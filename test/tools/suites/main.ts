/** `npm run test:suites` runs programs of others with and without mpi-trace. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Command, Option } from 'commander'
import { openFolder } from '../../observers/pod.ts'
import { buildRecorder, LIBRARIES, type Library } from '../mpi/programs.ts'
import { compareEnds, compiles, endOf, type Verdict } from './ends.ts'
import { findHangs } from './hangs.ts'
import { findSources, readLists, type SuiteProgram } from './suite-programs.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

interface Options {
  readonly library: Library
  readonly ranks: number
  readonly only: string
  readonly include: readonly string[]
  readonly lists: readonly string[]
  readonly seconds: number
  readonly yield: boolean
  readonly hangs: boolean
  readonly draw?: number
  readonly seed: number
  readonly jobs: number
}

const command = new Command('test:suites')
  .description(
    'builds the MPI programs below a folder, and runs each of them once as it is and once with ' +
      'the recorder of mpi-trace. The exit code, the output and time-outs must be equal. If they ' +
      'differ, further runs without the recorder show whether they vary by themselves. The ' +
      'programs are the files in C that compile alone, or those of --lists. With --hangs, each ' +
      'program that has not ended after --seconds must have a finding no-progress, and no other',
  )
  .argument('<folder>', 'a clone of a suite, such as MPI-CorrBench')
  .addOption(
    new Option('--library <name>', 'the MPI library').choices(LIBRARIES).default(LIBRARIES[0]),
  )
  .option('--ranks <n>', 'the number of processes of a program that names none', Number, 2)
  .option('--only <regex>', 'the programs whose path matches', '')
  .option('--include <folders...>', 'folders with header files', [])
  .option(
    '--lists <names...>',
    'the names of files that list programs, with their numbers of processes, arguments and ' +
      'variables, as in the folder test/mpi of MPICH. `make` builds the programs, so the suite ' +
      'must be configured for the MPI library',
    [],
  )
  .option('--seconds <n>', 'the time after which a program is killed', Number, 10)
  .option(
    '--yield',
    'lets processes of MPICH that wait sleep, also in plain runs: for more processes than there ' +
      'are processors',
    false,
  )
  .option('--draw <n>', 'a number of programs, drawn by the seed', Number)
  .option('--seed <n>', 'the seed of --draw', Number, 1)
  .option(
    '--hangs',
    'runs each program once, with the recorder and its observer, and looks for hangs; needs root',
    false,
  )
  .option('--jobs <n>', 'the number of programs that --hangs runs at the same time', Number, 4)
  .addHelpText(
    'after',
    '\nExit code: 0 if the recorder changed no program, otherwise 1. With --hangs: 0 if 95 of ' +
      '100 programs that hang have the finding, and none that ends.' +
      '\n\nExamples:\n' +
      '  npm run test:suites -- ../MPI-Corrbench --library mpich --only 0-level/coll\n' +
      '  npm run test:suites -- ../mpich/test/mpi --library mpich --lists testlist --seconds 60\n' +
      '  npm run test:suites -- ../MBI --library mpich --hangs --draw 200 --seconds 90',
  )
  .action(async (folder: string, options: Options) => {
    const built = mkdtempSync(join(tmpdir(), 'ridealong-suite-'))
    process.on('exit', () => rmSync(built, { recursive: true, force: true }))
    const programs = findPrograms(resolve(folder), built, options)
    const isGood = options.hangs
      ? await findHangs(programs.filter(compiles), options)
      : await comparePrograms(programs, built, options)
    process.exitCode = isGood ? 0 : 1
  })

/** Runs programs with and without the recorder. Returns whether it changed none of them. */
async function comparePrograms(
  programs: readonly SuiteProgram[],
  built: string,
  options: Options,
): Promise<boolean> {
  const recorder = join(built, 'libridealong-mpi.so')
  buildRecorder(recorder)
  const preloaded = options.yield ? [buildYield(built)] : []
  const results: Result[] = []
  for (const program of programs) {
    const result = await judge(program, recorder, preloaded, options)
    results.push(result)
    say(`${result.verdict} ${program.title}: ${result.text}`)
  }
  const verdicts = new Set(results.map(({ verdict }) => verdict))
  const countOf = (name: string) => results.filter(({ verdict }) => verdict === name).length
  const recorded = results.filter(({ isRecorded }) => isRecorded).length
  say([...verdicts].map((name) => `${name}: ${countOf(name)}`).join(', '))
  say(`programs that mpi-trace has recorded: ${recorded}`)
  return !verdicts.has('differs') && verdicts.has('equal') && recorded > 0
}

/** Builds the library of `--yield`, and returns its path. */
function buildYield(folder: string): string {
  const path = join(folder, 'yield.so')
  execFileSync('gcc', ['-O1', '-shared', '-fPIC', 'yield.c', '-o', path, '-ldl'], {
    cwd: import.meta.dirname,
  })
  return path
}

/** What the recorder changed in a program, and whether it wrote a file. */
interface Result {
  readonly verdict: Verdict | 'not built'
  readonly text: string
  readonly isRecorded: boolean
}

const NOT_BUILT: Result = {
  verdict: 'not built',
  text: 'its compiler refuses it',
  isRecorded: false,
}

function findPrograms(folder: string, built: string, options: Options): readonly SuiteProgram[] {
  const include = options.include.map((one) => resolve(one))
  const isListed = options.lists.length > 0
  const all = isListed
    ? readLists(folder, options.lists)
    : findSources(folder, { ...options, include, built })
  const found = all.filter(({ title }) => RegExp(options.only).test(title))
  if (found.length === 0) command.error(`error: ${folder} has no program that matches --only`)
  const orderOf = ({ title }: SuiteProgram) =>
    createHash('sha256').update(`${options.seed} ${title}`).digest('hex')
  if (options.draw === undefined) return found
  const ordered = found.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  return ordered.slice(0, options.draw)
}

/** The most runs without the recorder of a program that ends otherwise with it. */
const MAX_RUNS = 20

/** How much more time a program gets if only one of its two runs has ended in time. */
const PATIENCE = 5

/** Builds and runs a program. Says what the recorder changed in it. */
async function judge(
  program: SuiteProgram,
  recorder: string,
  preloaded: readonly string[],
  { library, seconds }: Options,
): Promise<Result> {
  if (!compiles(program)) return NOT_BUILT
  const launch = [`mpirun.${library}`, '-n', String(program.ranks), ...program.launcher]
  const words = ['env', '-C', program.folder, ...launch, ...program.words]
  const results = openFolder('ridealong-mpi-results-')
  const preload = (...paths: readonly string[]) => ({ ...program.env, LD_PRELOAD: paths.join(':') })
  const env = { ...preload(recorder, ...preloaded), RIDEALONG_MPI_TRACE: results }
  const runPlain = (limit: number) => endOf(words, preload(...preloaded), limit)
  const runBoth = async (limit: number) => ({
    limit,
    plain: [await runPlain(limit)],
    recorded: await endOf(words, env, limit),
  })
  let { limit, plain, recorded } = await runBoth(seconds)
  // A program that needs about as long as the limit ends in time by luck.
  if ((plain[0]?.code === 'time-out') !== (recorded.code === 'time-out'))
    ({ limit, plain, recorded } = await runBoth(PATIENCE * seconds))
  const isRecorded = readdirSync(results).length > 0
  rmSync(results, { recursive: true, force: true })
  // A program may end in several ways by itself.
  while (compareEnds({ plain, recorded }) === 'differs' && plain.length < MAX_RUNS)
    plain.push(await runPlain(limit))
  const verdict = compareEnds({ plain, recorded })
  const codes = [...new Set(plain.map(({ code }) => code))].join(' or ')
  const text = `${codes}, with mpi-trace ${recorded.code} (plain runs: ${plain.length})`
  return { verdict, text, isRecorded }
}

await command.parseAsync()
