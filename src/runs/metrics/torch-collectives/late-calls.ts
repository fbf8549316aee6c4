import { median, plainMean } from '../../../lib/statistics.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { storeOf } from '../../evidence/stores.ts'
import { type GroupMember, groupMembers, whyIncomparable } from './group-members.ts'
import { TORCH_STORE, type TorchRun } from './torch-run.ts'

/** A member with the times of its calls. */
interface ComparedMember extends GroupMember {
  /** When it made each compared call, in the order of their numbers. */
  readonly times: readonly number[]
}

/** The members of a process group whose calls can be compared. */
interface ComparedGroup {
  readonly members: readonly ComparedMember[]
  /** The numbers of the calls of which the rows of all members have the time, in order. */
  readonly numbers: readonly number[]
}

/** The least part of the compared calls in which a late member was the last one. */
const MIN_LAST = 0.5

/** A member that made calls later than all others. All times are in seconds. */
export interface LateMember {
  readonly late: GroupMember
  /** The pod of the process, as reports name it. */
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
  /** The mean over the other members of the time from their calls to its own; see `waitOf`. */
  readonly waited: number
  /** The mean part of the recorded time that this is, from 0 to 1. */
  readonly part: number
  /** Whether members are on several nodes, so that the delay depends on their clocks. */
  readonly isAcrossNodes: boolean
}

/** The collective calls of PyTorch of a run, compared. */
export interface TorchCalls {
  readonly late: readonly LateMember[]
  /** Why process groups were not compared, by pod. */
  readonly incomparable: ReadonlyMap<string, string>
}

/** Returns the collective calls of PyTorch of a run, compared. */
export function torchCalls({ stores, podOf }: RunEvidence): TorchCalls {
  return joinTorch(storeOf(stores, TORCH_STORE), podOf)
}

/**
 * Compares the calls of the members of each process group. Returns the members that were the last
 * ones in at least half of the calls.
 *
 * @param podOf returns the pod of a log, as reports name it
 */
export function joinTorch(run: TorchRun, podOf: (source: string) => string): TorchCalls {
  const late: LateMember[] = []
  const reasons = new Map<string, string>()
  for (const members of groupMembers(run, podOf)) {
    const reason = whyIncomparable(members)
    if (reason === null) late.push(...findLate(compare(members), podOf))
    else for (const { process } of members) reasons.set(podOf(process.source), reason)
  }
  return { late, incomparable: reasons }
}

/** Returns a process group with the calls that the rows of all members have. */
function compare(members: readonly GroupMember[]): ComparedGroup {
  const [fewest] = [...members].sort((a, b) => a.group.calls.size - b.group.calls.size)
  const numbers = [...(fewest?.group.calls.keys() ?? [])]
    .filter((number) => members.every(({ group }) => group.calls.has(number)))
    .sort((a, b) => a - b)
  return {
    numbers,
    members: members.map((member) => {
      const { calls } = member.group
      return { ...member, times: numbers.map((number) => calls.get(number)?.called ?? 0) }
    }),
  }
}

/** Returns the members that were the last ones in at least half of the calls. */
function findLate(
  compared: ComparedGroup,
  podOf: (source: string) => string,
): readonly LateMember[] {
  const { members, numbers } = compared
  const byLast = Map.groupBy(numbers.keys(), (at) => lastOf(members, at))
  return [...byLast]
    .filter(([, own]) => own.length >= MIN_LAST * numbers.length)
    .map(([late, own]) => {
      return { ...describe(compared, late, own), pod: podOf(late.process.source) }
    })
}

/** @param own the indexes of the calls in which the member was the last one */
function describe(
  { members, numbers }: ComparedGroup,
  late: ComparedMember,
  own: readonly number[],
): Omit<LateMember, 'pod'> {
  const others = members.filter((one) => one !== late)
  // The recorded time ends with the last of consecutive calls.
  const followed = [...numbers.keys()].filter((at) => isFollowed(numbers, at))
  const ownFollowed = own.filter((at) => isFollowed(numbers, at))
  const waits = others.map((one) => {
    const waited = waitOf(one, late, ownFollowed)
    return { waited, part: partOf(waited, recordedTime(one, followed)) }
  })
  const operations = Map.groupBy(own, (at) => operationOf(late, numbers[at]))
  const [most] = [...operations].sort(([, a], [, b]) => b.length - a.length)
  return {
    late,
    description: late.group.description,
    size: members.length,
    calls: numbers.length,
    lastCalls: own.length,
    delay: median(own.map((at) => delayOf(late, others, at))) ?? 0,
    operation: most?.[0] ?? '',
    waited: plainMean(waits.map(({ waited }) => waited)) ?? 0,
    part: plainMean(waits.map(({ part }) => part)) ?? 0,
    isAcrossNodes: new Set(members.map(({ process }) => process.node)).size > 1,
  }
}

function partOf(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0
}

/** Reports whether the call after a call is compared, too. */
function isFollowed(numbers: readonly number[], at: number): boolean {
  const number = numbers[at]
  return number !== undefined && numbers[at + 1] === number + 1
}

function operationOf({ group }: GroupMember, number: number | undefined): string {
  return number === undefined ? '' : (group.calls.get(number)?.operation ?? '')
}

function timeOf({ times }: ComparedMember, at: number): number {
  return times[at] ?? 0
}

function lastOf(members: readonly ComparedMember[], at: number): ComparedMember {
  const [first, ...others] = members as [ComparedMember, ...ComparedMember[]]
  return others.reduce((a, b) => (timeOf(b, at) > timeOf(a, at) ? b : a), first)
}

/** Returns by how much a member made a call later than the median of the others. */
function delayOf(late: ComparedMember, others: readonly ComparedMember[], at: number): number {
  return timeOf(late, at) - (median(others.map((one) => timeOf(one, at))) ?? 0)
}

/**
 * Returns the time from the calls of a member to those of a late one. A member that made its next
 * call before that of the late one has not waited for it, as when it calls operations for several
 * buckets of gradients and only then waits for all.
 */
function waitOf(waiting: ComparedMember, late: ComparedMember, own: readonly number[]): number {
  return own.reduce((sum, at) => {
    const [from, to] = [timeOf(waiting, at), timeOf(late, at)]
    return to <= timeOf(waiting, at + 1) ? sum + to - from : sum
  }, 0)
}

/**
 * Returns the time between calls with consecutive numbers: the time that the rows cover.
 *
 * @param followed the indexes of the calls with a next one
 */
function recordedTime(member: ComparedMember, followed: readonly number[]): number {
  return followed.reduce(
    (sum, at) => sum + Math.max(timeOf(member, at + 1) - timeOf(member, at), 0),
    0,
  )
}
