import { printableJson } from '../../core/text/printable.ts'
import type { Output } from '../../lib/output-format.ts'
import { type GroupOptions, groupStacks, type StackGroup } from './groups.ts'
import {
  type AskedPod,
  listMembers,
  type MemberOptions,
  type Members,
  type StackMember,
} from './members.ts'
import { describeMembers, renderTree, wrap } from './tree.ts'

export type StacksFormat = 'text' | 'json'

export interface ShowOptions extends GroupOptions, MemberOptions {
  readonly format: StacksFormat
  /** The width of the terminal in characters. */
  readonly width: number
}

export interface ShownStacks {
  readonly output: Output
  /** Sentences about what is not in the output. */
  readonly notices: readonly string[]
  /** Whether each process has a stack, or sleeps in a known call. */
  readonly isWhole: boolean
}

/** Formats the stacks of all pods of a workload, merged into groups. */
export function showStacks(pods: readonly AskedPod[], options: ShowOptions): ShownStacks {
  const found = listMembers(pods, options)
  const groups = groupStacks(found, options)
  const isKnown = ({ thread }: StackMember) =>
    (thread?.native ?? thread?.python) !== undefined || typeof thread?.call === 'string'
  return {
    output: options.format === 'json' ? asJson(groups) : asText(groups, options.width),
    notices: noticesOf(found),
    isWhole: found.members.length > 0 && found.members.every(isKnown),
  }
}

function noticesOf({ members, hidden, leftOut }: Members): readonly string[] {
  const processes = hidden === 1 ? '1 process is' : `${hidden} processes are`
  return [
    ...(members.length === 0 ? ['no pod has a process that is observed'] : []),
    ...(hidden === 0
      ? []
      : [`${processes} not shown, such as launchers, shells and helpers; --all shows them`]),
    ...(leftOut === 0 ? [] : [`${leftOut} processes or threads were left out: too many`]),
  ]
}

function asText(groups: readonly StackGroup[], width: number): Output {
  const stacks = groups.filter(({ frames }) => frames.length > 0)
  const others = groups.filter(({ frames }) => frames.length === 0)
  const lines = others.flatMap(({ members, why }) =>
    wrap(`${describeMembers(members)}: ${why}`, { first: '', others: '  ' }, width),
  )
  return { lines: [...renderTree(stacks, width), ...lines] }
}

function asJson(groups: readonly StackGroup[]): Output {
  const records = groups.map(({ frames, isPython, isCut, why, members }) => ({
    ranks: [...new Set(members.flatMap(({ rank }) => rank ?? []))],
    pods: [...new Set(members.map(({ pod }) => pod))],
    is_python: isPython,
    stack: frames.map(({ function: name, library }) => ({ function: name, library })),
    is_cut: isCut,
    why: why === '' ? null : why,
    threads: members.map(({ rank, pod, pod_index, process, thread }) => ({
      rank,
      pod,
      pod_index,
      container: process?.container ?? null,
      program: process?.program ?? null,
      pid: process?.pid ?? null,
      thread: thread?.id ?? null,
      name: thread?.name ?? null,
      state: thread?.activity ?? null,
      call: thread?.call ?? null,
    })),
  }))
  return { document: `${printableJson(records, 2)}\n` }
}
