import { numberList } from '../rules/sentence.ts'
import type { StackGroup } from './groups.ts'
import type { StackMember } from './members.ts'

/** A function, or a chain of functions, with the members that are in it. */
interface StackNode {
  readonly name: string
  readonly members: StackMember[]
  readonly children: Map<string, StackNode>
  /** The members whose stack ends here. */
  readonly ending: StackMember[]
}

/** The maximum length of a name in the tree. */
const MAX_NAME = 120
/** The maximum number of functions of a chain, apart from its last ones. */
const MAX_CHAIN = 40
const MIN_WIDTH = 30

/**
 * Renders the stacks as a tree: functions that all members of a branch call are one line.
 *
 * @param width the width of a line in characters
 */
export function renderTree(groups: readonly StackGroup[], width: number): readonly string[] {
  const roots = new Map<string, StackNode>()
  for (const group of groups) addGroup(roots, group)
  return inOrder(roots).flatMap((node) => renderNode(node, { first: '', others: '' }, width))
}

function addGroup(roots: Map<string, StackNode>, { frames, isCut, members }: StackGroup): void {
  const names = frames.map((frame) => frame.function)
  let nodes = roots
  let last: StackNode | undefined
  for (const name of isCut ? ['...', ...names] : names) {
    const node: StackNode = nodes.get(name) ?? newNode(name)
    nodes.set(name, node)
    for (const member of members) node.members.push(member)
    nodes = node.children
    last = node
  }
  for (const member of members) last?.ending.push(member)
}

function newNode(name: string): StackNode {
  return { name, members: [], children: new Map(), ending: [] }
}

function inOrder(nodes: ReadonlyMap<string, StackNode>): readonly StackNode[] {
  return [...nodes.values()].toSorted((a, b) => b.members.length - a.members.length)
}

/** What precedes the first line of a node, and its other lines with those of its children. */
interface Indent {
  readonly first: string
  readonly others: string
}

function renderNode(node: StackNode, indent: Indent, width: number): readonly string[] {
  const chain = [node.name]
  let last = node
  for (;;) {
    const [only, ...more] = last.children.values()
    if (only === undefined || more.length > 0 || last.ending.length > 0) break
    chain.push(only.name)
    last = only
  }
  const children = inOrder(last.children)
  const isPassed = children.length > 0 && last.ending.length > 0
  const here = isPassed ? [`${describeMembers(last.ending)}: in ${shorten(last.name)}`] : []
  const hanging = `${indent.others}${children.length > 0 ? '│ ' : '  '}`
  const text = `${describeMembers(node.members)}: ${joinChain(chain)}`
  const count = here.length + children.length
  const branch = (at: number): Indent => ({
    first: `${indent.others}${at === count - 1 ? '└─ ' : '├─ '}`,
    others: `${indent.others}${at === count - 1 ? '   ' : '│  '}`,
  })
  return [
    ...wrap(text, { first: indent.first, others: hanging }, width),
    ...here.flatMap((line, at) => wrap(line, branch(at), width)),
    ...children.flatMap((child, at) => renderNode(child, branch(here.length + at), width)),
  ]
}

/** Returns the functions of a chain. Of a long recursion, only the ends are shown. */
function joinChain(chain: readonly string[]): string {
  const left = chain.length - MAX_CHAIN
  if (left <= 1) return chain.map(shorten).join(' > ')
  const half = MAX_CHAIN / 2
  const names = [...chain.slice(0, half), `(${left} functions)`, ...chain.slice(-half)]
  return names.map(shorten).join(' > ')
}

function shorten(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - 3)}...`
}

/**
 * Names the ranks of members, or their pods if they have no rank, and counts threads if a rank or a
 * process has several: "ranks 0-3 (4 ranks, 8 threads)".
 */
export function describeMembers(members: readonly StackMember[]): string {
  const ranked = labelsOf(members.filter(({ rank }) => rank !== null))
  const others = labelsOf(members.filter(({ rank }) => rank === null))
  const count = ranked.length + others.length
  const isMixed = ranked.length > 0 && others.length > 0
  const pods = new Set(members.map(({ pod }) => pod)).size
  const places = others.length > pods ? 'processes' : 'pods'
  const noun = ranked.length > 0 ? 'ranks' : places
  const counted = count > 2 && !isMixed ? [`${count} ${noun}`] : []
  const threads = members.length > count ? [`${members.length} threads`] : []
  const named = [nameAll('rank', ranked), nameAll('pod', others)].flatMap((name) => name ?? [])
  const counts = [...counted, ...threads].join(', ')
  return counts === '' ? named.join(', ') : `${named.join(', ')} (${counts})`
}

function labelsOf(members: readonly StackMember[]): readonly string[] {
  return [...new Set(members.map(({ label }) => label))]
}

/** Returns "ranks 0-3": the noun only precedes numbers. Undefined if there are no labels. */
function nameAll(noun: 'rank' | 'pod', labels: readonly string[]): string | undefined {
  if (labels.length === 0) return undefined
  const list = numberList(labels)
  return /^\d/.test(list) ? `${noun}${labels.length === 1 ? '' : 's'} ${list}` : list
}

/** Breaks a text between words; a word that is too long has a line of its own. */
export function wrap(text: string, { first, others }: Indent, width: number): readonly string[] {
  const room = Math.max(width - others.length, MIN_WIDTH)
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= room)
      lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines.map((line, at) => `${at === 0 ? first : others}${line}`)
}
