import type { Members, StackMember } from './members.ts'
import type { AskedThread, StackFrame, ThreadStack } from './pod-stacks.ts'

/** The members with the same stack, or without a stack for the same reason. */
export interface StackGroup {
  /** Whether the functions are those of Python. */
  readonly isPython: boolean
  /** The functions from the outermost on; empty without a stack. */
  readonly frames: readonly StackFrame[]
  /** Whether outer functions are missing in `frames`. */
  readonly isCut: boolean
  /** What the members do, and why they have no stack, as a clause; empty if they have one. */
  readonly why: string
  readonly members: readonly StackMember[]
}

export interface GroupOptions {
  /** Whether functions inside of MPI, and those before `main`, are part of a stack. */
  readonly full: boolean
  /** Whether native functions are shown also of threads with a stack of Python. */
  readonly native: boolean
}

const natural = new Intl.Collator('en', { numeric: true }).compare

/**
 * Groups the members by their stacks, as STAT does (LLNL). The largest group is first, and the
 * members are in the order of their labels.
 */
export function groupStacks({ members }: Members, options: GroupOptions): readonly StackGroup[] {
  const stackOf = stackReader(options)
  const groups = new Map<string, OpenGroup>()
  for (const member of members) {
    const stack = stackOf(member)
    const names = stack.frames.map((frame) => frame.function)
    const key = JSON.stringify([names, stack.isPython, stack.isCut, stack.why])
    const group = groups.get(key) ?? { ...stack, members: [] }
    groups.set(key, group)
    group.members.push(member)
  }
  return [...groups.values()]
    .map((group) => ({ ...group, members: group.members.toSorted(compareMembers) }))
    .toSorted(compareGroups)
}

type Stack = Omit<StackGroup, 'members'>
type OpenGroup = Stack & { readonly members: StackMember[] }

/** Returns a function that reads the stack of a member. */
function stackReader({ full, native }: GroupOptions): (member: StackMember) => Stack {
  return (member) => {
    const { thread } = member
    if (thread?.python !== undefined && !native)
      return { ...thread.python, isPython: true, why: '' }
    const { frames: all, isCut } = thread?.native ?? NO_STACK
    const frames = full ? all : relevantFrames(all)
    const why = frames.length === 0 ? describeMissing(member) : ''
    return { frames, isCut, isPython: false, why }
  }
}

const NO_STACK: ThreadStack = { frames: [], isCut: false }

function compareMembers(a: StackMember, b: StackMember): number {
  return natural(a.label, b.label) || (a.thread?.id ?? 0) - (b.thread?.id ?? 0)
}

/** Groups with a stack are first, and of these the largest. */
function compareGroups(a: OpenGroup, b: OpenGroup): number {
  const [first, other] = [a.members[0]?.label ?? '', b.members[0]?.label ?? '']
  return (
    Number(a.why !== '') - Number(b.why !== '') ||
    b.members.length - a.members.length ||
    natural(first, other)
  )
}

/** The functions of MPI. A rank that waits in one of them moves between its internal functions. */
const MPI_FUNCTION = /^P?(MPI_[A-Z][A-Za-z_0-9]*)$/
/** The library of mpi-trace, through which calls of MPI pass. */
const RECORDER = 'libridealong-mpi.so'
/** The functions that start a program or a thread; those of libc may have no symbol. */
const START = /^(_start|__libc_start_\w+|start_thread|__clone\w*|clone3?|\[libc\.so\.6\])$/

/**
 * Returns the functions that say what a thread does: from `main` on, and up to the first function
 * of MPI. Neighbouring functions without a symbol of the same library count as one.
 */
export function relevantFrames(frames: readonly StackFrame[]): readonly StackFrame[] {
  const main = frames.findIndex((frame) => frame.function === 'main')
  const start = frames.findIndex((frame) => !START.test(frame.function))
  const inner = frames.slice(Math.max(main, start, 0)).filter((frame) => frame.library !== RECORDER)
  const named = inner.map((frame) => {
    const name = MPI_FUNCTION.exec(frame.function)?.[1]
    return name === undefined || name === frame.function ? frame : { ...frame, function: name }
  })
  const mpi = named.findIndex((frame) => MPI_FUNCTION.test(frame.function))
  const outer = mpi === -1 ? named : named.slice(0, mpi + 1)
  return outer.filter((frame, at) => {
    const isRepeated = outer[at - 1]?.function === frame.function
    return !(isRepeated && frame.function.startsWith('['))
  })
}

/** Says what a member without a stack does, and why it has none. */
function describeMissing({ thread, why }: StackMember): string {
  if (thread === undefined) return why ?? 'the pod has not answered'
  return `${describeActivity(thread)}; no stack: ${thread.why || 'it has no functions'}`
}

/** Says what a thread does: "sleeps in poll". */
function describeActivity({ activity, call }: AskedThread): string {
  const where = call === null ? '' : ` in ${call}`
  if (activity === 'blocked') return `waits in state D${where}`
  if (activity === 'stopped') return 'is stopped'
  if (activity === 'ended') return 'has ended'
  if (activity === 'unknown') return 'is in an unknown state'
  return `${activity}${where}`
}
