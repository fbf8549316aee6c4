import { median, plainMean } from '../../lib/statistics.ts'
import type { TorchGroup, TorchProcess, TorchRun } from './torch-run.ts'

/** A process as a member of a process group. */
interface Member {
  readonly process: TorchProcess
  readonly group: TorchGroup
}

/** The members of a process group whose calls can be compared. */
interface ComparedGroup {
  readonly description: string
  readonly members: readonly Member[]
  /** The numbers of the calls of which the rows of all members have the time, in their order. */
  readonly numbers: readonly number[]
}

/** A member that made calls later than all others. All times are in seconds. */
export interface LateMember {
  readonly late: Member
  /** The rank that reports show for its pod. */
  readonly pod: string
  readonly description: string
  readonly size: number
  /** The compared calls, and those of them in which the member was the last one. */
  readonly calls: number
  readonly lastCalls: number
  /** The median of its delays in the calls in which it was the last one; see `delayOf`. */
  readonly delay: number
  /** The operation of most of these calls. */
  readonly operation: string
  /** The mean over the other members of the time between their calls and its calls. */
  readonly waited: number
  /** The mean part of the recorded time that this is, from 0 to 1. */
  readonly part: number
  /** Whether members are on several nodes, so that the delay depends on their clocks. */
  readonly isAcrossNodes: boolean
}

/** The collective calls of PyTorch of a run, compared. */
export interface TorchCalls {
  readonly late: readonly LateMember[]
  /** Why process groups were not compared, by the rank that reports show for the pod. */
  readonly incomparable: ReadonlyMap<string, string>
}

/**
 * Compares the calls of the members of each process group.
 *
 * @param rankOf returns the rank that reports show for the pod of a log
 */
export function joinTorch(run: TorchRun, rankOf: (source: string) => string): TorchCalls {
  const late: LateMember[] = []
  const reasons = new Map<TorchProcess, string>()
  for (const members of groupsOf(run)) {
    const reason = whyIncomparable(members)
    if (reason === null) late.push(...findLate(compare(members), rankOf))
    else for (const { process } of members) reasons.set(process, reason)
  }
  return {
    late,
    incomparable: new Map([...reasons].map(([{ source }, reason]) => [rankOf(source), reason])),
  }
}

/** Returns a process group with the calls that the rows of all members have. */
function compare(members: readonly Member[]): ComparedGroup {
  const [{ group }] = members as [Member]
  const [fewest] = [...members].sort((a, b) => a.group.called.size - b.group.called.size)
  const isCommon = (number: number) => members.every((one) => one.group.called.has(number))
  const numbers = [...(fewest?.group.called.keys() ?? [])].filter(isCommon)
  return { description: group.description, members, numbers: numbers.sort((a, b) => a - b) }
}

/** The members of process groups. A group has the same name, description and members in all. */
function groupsOf(run: TorchRun): readonly (readonly Member[])[] {
  const all = [...run.values()].flatMap((process) =>
    [...process.groups.values()].map((group) => ({ process, group })),
  )
  const groups = Map.groupBy(all, ({ group: { name, description, members, size } }) =>
    JSON.stringify([name, description, members, size]),
  )
  return [...groups.values()].filter(([first]) => first?.group.size !== 1)
}

function whyIncomparable(members: readonly Member[]): string | null {
  const [{ group }] = members as [Member]
  const { name, description, size } = group
  const where = `the process group ${name} (${description})`
  if (size === null) return `the members of ${where} are not known`
  const ranks = new Set(members.map(({ process }) => process.rank))
  if (members.length > size || ranks.size < members.length)
    return `several processes have the same rank in ${where}`
  return members.length < size
    ? `torch-collectives has rows of only ${members.length} of the ${size} members of ${where}`
    : null
}

/** Returns the members of a process group that were the last ones in some call. */
function findLate(
  compared: ComparedGroup,
  rankOf: (source: string) => string,
): readonly LateMember[] {
  const { members, numbers } = compared
  const byLast = Map.groupBy(numbers, (number) => lastOf(members, number))
  return [...byLast].map(([late, own]) => {
    return { ...describe(compared, late, own), pod: rankOf(late.process.source) }
  })
}

/** @param own the numbers of the calls in which the member was the last one */
function describe(
  { description, members, numbers }: ComparedGroup,
  late: Member,
  own: readonly number[],
): Omit<LateMember, 'pod'> {
  const others = members.filter((one) => one !== late)
  // The recorded time ends with the last of consecutive calls.
  const all = new Set(numbers)
  const followed = own.filter((number) => all.has(number + 1))
  const waits = others.map((one) => {
    const waited = waitOf(one, late, followed)
    return { waited, part: partOf(waited, recordedTime(one, numbers)) }
  })
  const operations = Map.groupBy(own, (number) => late.group.operations.get(number) ?? '')
  const [most] = [...operations].sort(([, a], [, b]) => b.length - a.length)
  return {
    late,
    description,
    size: members.length,
    calls: numbers.length,
    lastCalls: own.length,
    delay: median(own.map((number) => delayOf(late, others, number))) ?? 0,
    operation: most?.[0] ?? '',
    waited: plainMean(waits.map(({ waited }) => waited)) ?? 0,
    part: plainMean(waits.map(({ part }) => part)) ?? 0,
    isAcrossNodes: new Set(members.map(({ process }) => process.node)).size > 1,
  }
}

function partOf(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0
}

function timeOf({ group }: Member, number: number): number {
  return group.called.get(number) ?? 0
}

function lastOf(members: readonly Member[], number: number): Member {
  const [first, ...others] = members as [Member, ...Member[]]
  return others.reduce((a, b) => (timeOf(b, number) > timeOf(a, number) ? b : a), first)
}

/** Returns by how much a member made a call later than the median of the others. */
function delayOf(late: Member, others: readonly Member[], number: number): number {
  return timeOf(late, number) - (median(others.map((one) => timeOf(one, number))) ?? 0)
}

/**
 * Returns the time between the calls of a member and those of a late one. Calls that overlap, such
 * as those of several buckets of gradients, count once.
 */
function waitOf(waiting: Member, late: Member, numbers: readonly number[]): number {
  let [waited, until] = [0, Number.NEGATIVE_INFINITY]
  for (const number of numbers) {
    const [from, to] = [Math.max(timeOf(waiting, number), until), timeOf(late, number)]
    waited += Math.max(to - from, 0)
    until = Math.max(until, to)
  }
  return waited
}

/** Returns the time between calls with consecutive numbers: the time that the rows cover. */
function recordedTime(member: Member, numbers: readonly number[]): number {
  return numbers.reduce((sum, number, index) => {
    const before = numbers[index - 1]
    const follows = before !== undefined && before + 1 === number
    return follows ? sum + Math.max(timeOf(member, number) - timeOf(member, before), 0) : sum
  }, 0)
}
