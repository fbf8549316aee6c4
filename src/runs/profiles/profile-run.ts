import type { RowSection } from '../../core/catalog.ts'
import type { Sample } from '../log/columns.ts'
import { addStack, type FrameTree, newFrameTree, shortName } from './frame-tree.ts'

/** The profiles of all processes of a run, by kind and program. */
export type ProfileRun = Map<string, ProgramProfile>

/**
 * The time of which a profile consists: processor time; or of Python, the time in which threads
 * were running, that in which the main thread was waiting, or the others, or all time if running
 * and waiting were not told apart. `separateHelpers` finds the time of processes that are no ranks.
 */
export type ProfileKind =
  | 'processor'
  | 'running'
  | 'waiting'
  | 'others-waiting'
  | 'all'
  | 'helpers-running'
  | 'helpers-waiting'

/** The profiles of the processes of one program. */
export interface ProgramProfile {
  /** The name of the program, and the kind of the time if it is not processor time. */
  readonly program: string
  /** The name of the program alone. */
  readonly executable: string
  /** The metric that made the profile. */
  readonly metric: string
  readonly kind: ProfileKind
  /** The stacks of all logs. */
  readonly tree: FrameTree
  /** The functions of all logs. */
  readonly functions: ProfiledFunction[]
  /** The indexes in `functions`, by name and library. */
  readonly functionAt: Map<string, number>
  /** The profiles of each log. */
  readonly logs: Map<string, LogProfile>
  /** The rows whose function or stack is part of `(other)`, because there are too many. */
  joined: number
}

export interface ProfiledFunction {
  readonly name: string
  /** The file name of the library or program that contains it; null if it is not known. */
  readonly library: string | null
}

/** The profiles of one program in one log. Its arrays have no objects, because they are large. */
export interface LogProfile {
  /** Groups of three: a process id, the innermost frame of a stack, and its seconds. */
  readonly stacks: number[]
  /** Groups of five: a process id, a function, and its self and total seconds and its samples. */
  readonly functions: number[]
  /** The processes whose profile is incomplete or missing, as `lmp 100 (incomplete)`. */
  readonly incomplete: string[]
}

/** The lengths of a group in the arrays of `LogProfile`. A total that is not known is NaN. */
export const STACK_FIELDS = 3
export const FUNCTION_FIELDS = 5

/** Yields a process id, the innermost frame of a stack, and its seconds. */
export function* stacksIn({
  stacks,
}: {
  readonly stacks: readonly number[]
}): Generator<readonly [number, number, number]> {
  for (let at = 0; at < stacks.length; at += STACK_FIELDS)
    yield [stacks[at] ?? 0, stacks[at + 1] ?? 0, stacks[at + 2] ?? 0]
}

/** The name of the row with the sum of all functions or stacks that have no row of their own. */
export const OTHER = '(other)'

/** The most functions of a program, and the most frames of its stacks, of all logs. */
const MAX_FUNCTIONS = 50_000
const MAX_FRAMES = 200_000

/** The text of the column `profile` of a process whose profile is whole. */
const COMPLETE = 'complete'

/** Reports whether the rows of a section are functions or stacks, and not values over time. */
export function isProfile({ of }: RowSection): boolean {
  return of === 'function' || of === 'stack'
}

/** The words that follow the name of a program. */
const KIND_WORDS = {
  processor: '',
  running: ' (Python, running)',
  waiting: ' (Python, main thread waiting)',
  'others-waiting': ' (Python, other threads waiting)',
  all: ' (Python)',
  'helpers-running': ' (Python, helpers running)',
  'helpers-waiting': ' (Python, helpers waiting)',
} as const satisfies Record<ProfileKind, string>

/** Adds a row about a function, about a stack, or about a process that was profiled. */
export function addProfileRow(run: ProfileRun, section: RowSection, sample: Sample): void {
  if (section.of === 'function') addFunctionRow(run, sample)
  else if (section.of === 'stack') addStackRow(run, sample)
  else if (typeof sample.profile === 'string') addProcess(profileOf(run, sample), sample)
}

/** Forgets the profiles of a log. */
export function forgetLogInProfiles(run: ProfileRun, source: string): void {
  for (const [name, { logs }] of run) {
    if (logs.delete(source) && logs.size === 0) run.delete(name)
  }
}

interface Place {
  readonly whole: ProgramProfile
  readonly log: LogProfile
  readonly pid: number
}

function profileOf(
  run: ProfileRun,
  { program, source, metric, pid }: Sample,
  kind: ProfileKind = 'processor',
): Place {
  const executable = typeof program === 'string' ? program : '?'
  const name = nameOf(executable, kind)
  const whole = run.get(name) ?? newProgram(executable, kind, metric ?? '')
  run.set(name, whole)
  const log = source ?? ''
  const profile = whole.logs.get(log) ?? { stacks: [], functions: [], incomplete: [] }
  whole.logs.set(log, profile)
  return { whole, log: profile, pid: asCount(pid) }
}

/** Returns the name of a program, with the kind of the time if it is not processor time. */
export function nameOf(executable: string, kind: ProfileKind): string {
  return `${executable}${KIND_WORDS[kind]}`
}

function newProgram(executable: string, kind: ProfileKind, metric: string): ProgramProfile {
  return {
    program: nameOf(executable, kind),
    executable,
    metric,
    kind,
    tree: newFrameTree(),
    functions: [],
    functionAt: new Map(),
    logs: new Map(),
    joined: 0,
  }
}

/** Divides a time of Python by what the threads did; nothing if the time is not known. */
function divide(
  { threads }: Sample,
  wall: Sample[string] = null,
  running: Sample[string] = null,
): readonly (readonly [ProfileKind, number])[] {
  if (!isTime(wall)) return []
  if (!isTime(running)) return [['all', wall]]
  const waiting = threads === 'main' ? 'waiting' : 'others-waiting'
  return [
    ['running', running],
    [waiting, Math.max(wall - running, 0)],
  ]
}

function addStackRow(run: ProfileRun, sample: Sample): void {
  const { stack, cpu_seconds: cpu, wall, running } = sample
  if (typeof stack !== 'string') return
  if (isTime(cpu)) addStackTime(profileOf(run, sample), stack, cpu)
  for (const [kind, seconds] of divide(sample, wall, running))
    if (seconds > 0) addStackTime(profileOf(run, sample, kind), stack, seconds)
}

function addStackTime({ whole, log, pid }: Place, stack: string, seconds: number): void {
  const frame = addStack(whole.tree, stack, MAX_FRAMES)
  if (frame === undefined) whole.joined += 1
  log.stacks.push(pid, frame ?? addStack(whole.tree, OTHER), seconds)
}

interface FunctionTimes {
  readonly self: number
  /** NaN if it is not known. */
  readonly total: number
  readonly samples: number
}

function addFunctionRow(run: ProfileRun, sample: Sample): void {
  const { self_seconds: cpu, total_seconds: cpuTotal, samples_self: samples } = sample
  if (isTime(cpu)) {
    const times = { self: cpu, total: asTime(cpuTotal), samples: asCount(samples) }
    addFunction(profileOf(run, sample), sample, times)
  }
  const { self_wall: wall, self_running: running } = sample
  const { total_wall: totalWall, total_running: totalRunning } = sample
  const totals = new Map(divide(sample, totalWall, totalRunning))
  for (const [kind, self] of divide(sample, wall, running)) {
    const total = totals.get(kind) ?? Number.NaN
    // The samples of a function stand for nearly equal times.
    const own = self > 0 ? Math.round((asCount(samples) * self) / asCount(wall)) : 0
    if (self > 0 || total > 0)
      addFunction(profileOf(run, sample, kind), sample, { self, total, samples: own })
  }
}

function addFunction({ whole, log, pid }: Place, sample: Sample, times: FunctionTimes): void {
  const { function: name, library } = sample
  if (typeof name !== 'string') return
  const number = numberOf(whole, name, typeof library === 'string' ? library : null)
  log.functions.push(pid, number, times.self, times.total, times.samples)
}

/** Returns the number of a function. If there are too many functions, it is that of `(other)`. */
function numberOf(whole: ProgramProfile, name: string, library: string | null): number {
  const { functions, functionAt } = whole
  const key = JSON.stringify([name, library])
  const known = functionAt.get(key)
  if (known !== undefined) return known
  if (functions.length >= MAX_FUNCTIONS && name !== OTHER) {
    whole.joined += 1
    return numberOf(whole, OTHER, null)
  }
  functionAt.set(key, functions.length)
  const short = library === null ? null : shortName(library)
  return functions.push({ name: shortName(name), library: short }) - 1
}

function addProcess({ log }: Place, { program, pid, profile }: Sample): void {
  if (profile !== COMPLETE) log.incomplete.push(`${program ?? '?'} ${pid ?? '?'} (${profile})`)
}

function isTime(cell: unknown): cell is number {
  return typeof cell === 'number' && cell >= 0
}

function asTime(cell: unknown): number {
  return isTime(cell) ? cell : Number.NaN
}

function asCount(cell: unknown): number {
  return isTime(cell) ? cell : 0
}
