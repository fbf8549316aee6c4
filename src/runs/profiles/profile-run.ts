import type { RowSection } from '../../core/catalog.ts'
import type { Sample } from '../log/columns.ts'
import { addStack, type FrameTree, newFrameTree, shortName } from './frame-tree.ts'

/** The profiles of all processes of a run, by program. */
export type ProfileRun = Map<string, ProgramProfile>

/** The profiles of the processes of one program. */
export interface ProgramProfile {
  readonly program: string
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
  /** Pairs: the innermost frame of a stack, and its seconds. */
  readonly stacks: number[]
  /** Groups of four: a function, and its self seconds, total seconds and samples; see below. */
  readonly functions: number[]
  /** The processes whose profile is incomplete or missing, as `lmp 100 (incomplete)`. */
  readonly incomplete: string[]
}

/** The length of a group in `LogProfile.functions`. A total that is not known is NaN. */
export const FUNCTION_FIELDS = 4

/** The name of the row with the sum of all functions or stacks that have no row of their own. */
export const OTHER = '(other)'

/** The most functions of a program, and the most frames of its stacks, of all logs. */
const MOST_FUNCTIONS = 50_000
const MOST_FRAMES = 200_000

/** The text of the column `profile` of a process whose profile is whole. */
const COMPLETE = 'complete'

/** Reports whether the rows of a section are functions or stacks, and not values over time. */
export function isProfile({ of }: RowSection): boolean {
  return of === 'function' || of === 'stack'
}

/** Adds a row about a function, about a stack, or about a process that was profiled. */
export function addProfileRow(run: ProfileRun, section: RowSection, sample: Sample): void {
  if (section.of === 'function') addFunction(profileOf(run, sample), sample)
  else if (section.of === 'stack') addStackRow(profileOf(run, sample), sample)
  else if (typeof sample.profile === 'string') addProcess(profileOf(run, sample), sample)
}

interface Place {
  readonly whole: ProgramProfile
  readonly log: LogProfile
}

function profileOf(run: ProfileRun, { program, source }: Sample): Place {
  const name = typeof program === 'string' ? program : '?'
  const whole = run.get(name) ?? newProgram(name)
  run.set(name, whole)
  const log = source ?? ''
  const profile = whole.logs.get(log) ?? { stacks: [], functions: [], incomplete: [] }
  whole.logs.set(log, profile)
  return { whole, log: profile }
}

function newProgram(program: string): ProgramProfile {
  const tree = newFrameTree()
  return { program, tree, functions: [], functionAt: new Map(), logs: new Map(), joined: 0 }
}

function addStackRow({ whole, log }: Place, { stack, cpu_seconds: seconds }: Sample): void {
  if (typeof stack !== 'string' || !isTime(seconds)) return
  const frame = addStack(whole.tree, stack, MOST_FRAMES)
  if (frame === undefined) whole.joined += 1
  log.stacks.push(frame ?? addStack(whole.tree, OTHER), seconds)
}

function addFunction({ whole, log }: Place, sample: Sample): void {
  const { function: name, library, self_seconds: self, total_seconds: total } = sample
  const { samples_self: samples } = sample
  if (typeof name !== 'string' || !isTime(self)) return
  const number = numberOf(whole, name, typeof library === 'string' ? library : null)
  log.functions.push(number, self, isTime(total) ? total : Number.NaN, asCount(samples))
}

/** Returns the number of a function. If there are too many functions, it is that of `(other)`. */
function numberOf(whole: ProgramProfile, name: string, library: string | null): number {
  const { functions, functionAt } = whole
  const key = JSON.stringify([name, library])
  const known = functionAt.get(key)
  if (known !== undefined) return known
  if (functions.length >= MOST_FUNCTIONS && name !== OTHER) {
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

function asCount(cell: unknown): number {
  return isTime(cell) ? cell : 0
}
