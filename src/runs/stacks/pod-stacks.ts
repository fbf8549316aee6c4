import { asObjects, asText, type Fields, parseFields } from '../../core/kubernetes/json.ts'

// The output of the observer's command `stacks` (observer/crates/observer/src/stacks/output.rs).
// Names come from the application, so the reader accepts anything.

/** A function of a stack. */
export interface StackFrame {
  readonly function: string
  /** The file name of its library or program; undefined if it is not known. */
  readonly library: string | undefined
}

/** What a thread does. */
export type ThreadActivity = 'runs' | 'sleeps' | 'blocked' | 'stopped' | 'ended' | 'unknown'

/** The stack of a thread. */
export interface ThreadStack {
  /** The functions from the outermost on. There is at least one. */
  readonly frames: readonly StackFrame[]
  /** Whether outer functions are missing. */
  readonly isCut: boolean
}

/** A thread of a process. */
export interface AskedThread {
  readonly id: number
  readonly name: string
  readonly activity: ThreadActivity
  /** The system call in which the thread sleeps; null if it is not known. */
  readonly call: string | null
  /** The stack of native functions; undefined if there is none. */
  readonly native: ThreadStack | undefined
  /** The stack of Python; undefined if there is none. */
  readonly python: ThreadStack | undefined
  /** Why there is no stack of native functions, as a clause; empty if there is one. */
  readonly why: string
}

/** A process of a pod. */
export interface AskedProcess {
  readonly pid: number
  readonly parent: number | null
  readonly program: string
  readonly container: string | null
  /** The MPI rank, or the rank that another launcher has given to the process. */
  readonly rank: number | null
  readonly threads: readonly AskedThread[]
  readonly threadsLeftOut: number
}

/** The processes of a pod. */
export interface PodStacks {
  readonly processes: readonly AskedProcess[]
  readonly processesLeftOut: number
}

/** The version of the format that this module reads. */
const VERSION = 1
/** The maximum length of a name; the observer writes at most 255 bytes. */
const MAX_NAME = 300
const ACTIVITIES: readonly string[] = ['runs', 'sleeps', 'blocked', 'stopped', 'ended']

/**
 * Reads the output of the observer's command.
 *
 * @returns undefined if the output is not whole, or has another format
 */
export function readPodStacks(text: string): PodStacks | undefined {
  // Lines that are no objects, such as messages of the program, are skipped.
  const lines = text
    .split('\n')
    .map(parseFields)
    .filter((line) => line !== undefined)
  const first = lines[0]
  const last = lines.at(-1)
  if (first?.stacks !== VERSION || last?.end !== true) return undefined
  const functions = listOf(first.functions).map(readFrame)
  return {
    processes: lines.slice(1, -1).map((line) => readProcess(line, functions)),
    processesLeftOut: count(last.processes_left_out),
  }
}

function readFrame(value: unknown): StackFrame {
  const [name, library] = listOf(value)
  return { function: shorten(asText(name)) || '?', library: shorten(asText(library)) || undefined }
}

function readProcess(fields: Fields, functions: readonly StackFrame[]): AskedProcess {
  return {
    pid: count(fields.pid),
    parent: numberOrNull(fields.parent),
    program: shorten(asText(fields.program)),
    container: asText(fields.container) ?? null,
    rank: numberOrNull(fields.rank),
    threads: asObjects(fields.threads).map((thread) => readThread(thread, functions)),
    threadsLeftOut: count(fields.threads_left_out),
  }
}

function readThread(fields: Fields, functions: readonly StackFrame[]): AskedThread {
  const state = asText(fields.state) ?? ''
  const native = readStack(fields.frames, fields.cut, functions)
  const why = shorten(asText(fields.why)) || 'the observer gave no reason'
  return {
    id: count(fields.id),
    name: shorten(asText(fields.name)),
    activity: ACTIVITIES.includes(state) ? (state as ThreadActivity) : 'unknown',
    call: asText(fields.call) === undefined ? null : shorten(asText(fields.call)),
    native,
    python: readStack(fields.python, fields.python_cut, functions),
    why: native === undefined ? why : '',
  }
}

function readStack(
  numbers: unknown,
  cut: unknown,
  functions: readonly StackFrame[],
): ThreadStack | undefined {
  const frames = listOf(numbers).flatMap((number) => functions[Number(number)] ?? [])
  return frames.length === 0 ? undefined : { frames, isCut: cut === true }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function count(value: unknown): number {
  return numberOrNull(value) ?? 0
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}

function shorten(text = ''): string {
  return text.length <= MAX_NAME ? text : `${text.slice(0, MAX_NAME)}...`
}
