import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildObserver } from './program.ts'

/** Returns the path of a program, or its name if the program is not installed. */
export function onPath(program: string): string {
  const { stdout } = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' })
  return stdout.trim() || program
}

/** Returns those of the programs that are not installed. */
export function findMissingPrograms(programs: readonly string[]): readonly string[] {
  return programs.filter((program) => onPath(program) === program)
}

/** The programs that tests of observers need. */
export const OBSERVER_PROGRAMS = [
  'cargo',
  'dash',
  'unshare',
  'nsenter',
  'setpriv',
  'gcc',
  'python3',
]

/**
 * Returns the options of a test that runs observers. If observers cannot run, the test is skipped
 * with a message; with CI=true, it fails instead. This function also builds the observer, because
 * the time limit of a test is too short for the build.
 */
export function observerTests(): { readonly skip: false | string } {
  const skip = process.env.CI === 'true' ? false : reasonToSkip()
  if (skip === false && buildObserver() === undefined) throw new Error('cargo is not installed')
  return { skip }
}

/** Whether the tests run as root on Linux. */
export function isRootOnLinux(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0
}

function reasonToSkip(): false | string {
  if (!isRootOnLinux()) return 'tests of observers need Linux, and root to imitate a pod'
  const missing = findMissingPrograms(OBSERVER_PROGRAMS)
  if (missing.length === 0) return false
  const needed = OBSERVER_PROGRAMS.join(', ')
  return `tests of observers need ${needed}; not installed: ${missing.join(', ')}`
}

/** A row of a section, as the Metrics Operator's parser returns it. */
export type Row = Readonly<Record<string, number | string | null>>

/** The result of the Metrics Operator's parser for a log. */
export interface Parsed {
  readonly data: readonly Readonly<Record<string, readonly Row[]>>[]
  readonly metadata: Readonly<Record<string, unknown>>
}

const PARSE = `
import contextlib, json, sys
from metricsoperator.metrics import get_metric
with contextlib.redirect_stdout(sys.stderr):
    parsed = [get_metric(sys.argv[1])().parse_log(log) for log in json.load(sys.stdin)]
json.dump(parsed, sys.stdout)`

/** Parses logs with the unchanged Python package of the Metrics Operator. */
export function parseAll(metric: string, logs: readonly string[]): readonly Parsed[] {
  const options = { input: JSON.stringify(logs), encoding: 'utf8', maxBuffer: 1 << 28 } as const
  return JSON.parse(execFileSync(python(), ['-c', PARSE, metric], options))
}

/** Parses one log. */
export function parse(metric: string, log: string): Parsed {
  return parseAll(metric, [log])[0] ?? { data: [], metadata: {} }
}

/**
 * Returns the path of a Python with metricsoperator 0.1.11. The first call installs the package
 * into the folder of temporary files. Several tests can do so at the same time: each installs into
 * a folder of its own, and one of them gives its folder the final name.
 */
function python(): string {
  const folder = join(tmpdir(), 'ridealong-metricsoperator-0.1.11-python')
  if (!existsSync(folder)) {
    const building = mkdtempSync(`${folder}-`)
    execFileSync('python3', ['-m', 'venv', building], { stdio: 'ignore' })
    const pip = ['-m', 'pip', 'install', '-q', 'metricsoperator==0.1.11']
    execFileSync(join(building, 'bin', 'python3'), pip)
    giveName(building, folder)
  }
  return join(folder, 'bin', 'python3')
}

/** Renames a folder. If the new name exists already, removes the folder. */
function giveName(folder: string, name: string): void {
  try {
    renameSync(folder, name)
  } catch (error) {
    rmSync(folder, { recursive: true })
    if (!existsSync(name)) throw error
  }
}

/** Returns the summary that follows the closing marker of a log: one row for each line. */
export function summaryOf(log: string): readonly Row[] {
  const lines = log.split('SUMMARY START\n')[1]?.split('SUMMARY END')[0]?.trim().split('\n') ?? []
  return lines.map((line) => JSON.parse(line))
}

/** Returns the number of timepoints in a log, counted by their headers. */
export function timepointsIn(log: string): number {
  return log.split('\nMETRICS OPERATOR TIMEPOINT\n').length - 1
}
