import {
  MAX_CALLS,
  MAX_GROUPS,
  type TorchGroup,
  type TorchProcess,
  type TorchRun,
} from './torch-run.ts'

/** A process as a member of a process group. */
export interface GroupMember {
  readonly process: TorchProcess
  readonly group: TorchGroup
}

/**
 * Returns the members of each process group with several members. A group has the same name,
 * description and members in all of them. If the processes were started again, they are those of
 * one start: the last one of which all members have calls.
 *
 * @param podOf returns the pod of a log, as reports name it
 */
export function groupMembers(
  run: TorchRun,
  podOf: (source: string) => string,
): readonly (readonly GroupMember[])[] {
  const byPod = Map.groupBy(run.values(), ({ source, pid }) => JSON.stringify([podOf(source), pid]))
  const members = [...byPod.values()]
    .flatMap(joinLogs)
    .flatMap((process) => [...process.groups.values()].map((group) => ({ process, group })))
  const groups = Map.groupBy(members, ({ group: { name, description, members, size } }) =>
    JSON.stringify([name, description, members, size]),
  )
  return [...groups.values()].filter(([first]) => first?.group.size !== 1).map(membersOfOneStart)
}

/** Returns why the members of a process group cannot be compared; null if they can. */
export function whyIncomparable(members: readonly GroupMember[]): string | null {
  const [{ group }] = members as [GroupMember]
  const { name, description, size } = group
  const where = `the process group ${name}${description === '' ? '' : ` (${description})`}`
  if (size === null) return `the members of ${where} are not known`
  if (members.length > size || hasRankTwice(members))
    return `several processes have the same rank in ${where}`
  return members.length < size
    ? `torch-collectives has rows of only ${members.length} of the ${size} members of ${where}`
    : null
}

/**
 * Joins the processes with one process id in the logs of one pod. Logs of several runs of the
 * observer can be about the same process, and then later ones have some of its calls again.
 */
function joinLogs(own: readonly TorchProcess[]): readonly TorchProcess[] {
  const joined: TorchProcess[] = []
  const inOrder = own
    .map((process) => ({ process, last: lastCall(process) }))
    .sort((a, b) => a.last - b.last)
  for (const { process } of inOrder) {
    const before = joined.at(-1)
    if (before === undefined || !isSame(before, process)) joined.push(process)
    else joined.splice(-1, 1, join(before, process))
  }
  return joined
}

/** Returns when a process made its last call; 0 if it has made none. */
function lastCall({ groups }: TorchProcess): number {
  return [...groups.values()].reduce((last, { calls }) => Math.max(last, spanOf(calls).to), 0)
}

/** Reports whether two logs are about the same process, and not about a later one with its id. */
function isSame(before: TorchProcess, after: TorchProcess): boolean {
  if (before.hasEnded) return false
  return [...after.groups.values()].every((group) => {
    const known = before.groups.get(group.name)
    return known === undefined || continues(known, group)
  })
}

/** The numbers of calls grow, and a call has one time. */
function continues({ calls: before }: TorchGroup, { calls: after }: TorchGroup): boolean {
  const last = after.size === 0 ? Number.POSITIVE_INFINITY : Math.max(...after.keys())
  return [...before].every(([number, { called }]) => {
    return number <= last && (after.get(number)?.called ?? called) === called
  })
}

function join(before: TorchProcess, after: TorchProcess): TorchProcess {
  const groups = new Map(before.groups)
  for (const [name, group] of after.groups) {
    const known = groups.get(name)
    if (known !== undefined) groups.set(name, joinGroup(known, group))
    else if (groups.size < MAX_GROUPS) groups.set(name, group)
  }
  return { ...after, rank: after.rank ?? before.rank, groups }
}

function joinGroup(before: TorchGroup, after: TorchGroup): TorchGroup {
  const facts = after.size === null ? before : after
  const all = [...before.calls, ...after.calls].sort(([a], [b]) => a - b)
  return { ...facts, calls: new Map(all.slice(-MAX_CALLS)) }
}

function hasRankTwice(members: readonly GroupMember[]): boolean {
  return new Set(members.map(({ process }) => process.rank)).size < members.length
}

/**
 * Returns the members of one start of the processes. All members of a process group call its
 * operations in the same time, so the calls of two starts do not overlap in time.
 */
function membersOfOneStart(members: readonly GroupMember[]): readonly GroupMember[] {
  if (!hasRankTwice(members)) return members
  const starts = startsOf(members)
  return starts.findLast((own) => whyIncomparable(own) === null) ?? starts.at(-1) ?? members
}

/** Divides the members by the starts of the processes, in the order of time. */
function startsOf(members: readonly GroupMember[]): readonly (readonly GroupMember[])[] {
  const starts: GroupMember[][] = []
  let end = Number.NEGATIVE_INFINITY
  const spans = members.flatMap((member) => {
    const { calls } = member.group
    return calls.size === 0 ? [] : { member, ...spanOf(calls) }
  })
  for (const { member, from, to } of spans.sort((a, b) => a.from - b.from)) {
    if (from > end) starts.push([])
    starts.at(-1)?.push(member)
    end = Math.max(end, to)
  }
  return starts
}

/** Returns the times of the first and the last call, in seconds since 1970. */
function spanOf(calls: TorchGroup['calls']): { readonly from: number; readonly to: number } {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { called } of calls.values()) {
    from = Math.min(from, called)
    to = Math.max(to, called)
  }
  return { from, to }
}
