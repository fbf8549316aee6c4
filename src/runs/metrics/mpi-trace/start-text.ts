import { durationText } from '../../../lib/duration.ts'
import { maximum, minimum } from '../../../lib/statistics.ts'
import { libraryRanks, podText } from '../../rules/sentence.ts'
import { sinceText } from '../../rules/stuck.ts'
import { activityText } from '../../waiting/absent-activity.ts'
import { MAX_NAMED } from '../../waiting/named-groups.ts'
import type { AbsentMember, StartingMember, StuckStart } from './stuck-start.ts'

/** Describes processes that waited in MPI_Init when a log ended. Returns one sentence or more. */
export function describeStart(stuck: StuckStart): string {
  const since = minimum(stuck.waiting.map(({ seconds, waited }) => seconds - waited)) ?? 0
  return describe(sinceText(since), stuck)
}

/** Describes processes that wait in MPI_Init now, for how long. Returns one sentence or more. */
export function describeStartNow(stuck: StuckStart): string {
  const longest = maximum(stuck.waiting.map(({ waited }) => waited)) ?? 0
  return describe(`For ${durationText(longest)}`, stuck)
}

function describe(beginning: string, { waiting, late, unrecorded }: StuckStart): string {
  const verb = waiting.length === 1 ? 'waits' : 'wait'
  const all = `${beginning}, ${namesOf(waiting)} ${verb} in ${waiting[0]?.call}.`
  const named = late.slice(0, MAX_NAMED).map(lateText)
  const more = late.length - named.length
  const others = more > 0 ? `${more} more have not returned from MPI_Init.` : ''
  return [all, ...named, others, missingText(late, unrecorded)]
    .filter((text) => text !== '')
    .join(' ')
}

/** Returns the name of a process: its rank, or its program, id and pod if it is not known. */
export function startingName({ rank, pod, ...process }: StartingMember): string {
  return rank === null ? `the ${processText(process)} in ${podText(pod)}` : `MPI rank ${rank}`
}

function processText({ program, pid }: Pick<StartingMember, 'program' | 'pid'>): string {
  const name = program === null ? 'process' : `process ${program}`
  return pid === null ? name : `${name} (PID ${pid})`
}

function namesOf(waiting: readonly StartingMember[]): string {
  const ranks = waiting.flatMap(({ rank }) => rank ?? [])
  const unknown = waiting.filter(({ rank }) => rank === null).map(startingName)
  const more = unknown.length > MAX_NAMED ? [`${unknown.length - MAX_NAMED} more processes`] : []
  const known = ranks.length === 0 ? [] : [libraryRanks('MPI', ranks)]
  return [...known, ...unknown.slice(0, MAX_NAMED), ...more].join(', ')
}

function lateText({ member, activity }: AbsentMember): string {
  const name = startingName(member).replace(/^the /, 'The ')
  if (member.call !== null) return `${name} ended in ${member.call}.`
  const process = member.rank === null ? 'it' : `its ${processText(member)}`
  return `${name} has not called MPI_Init: ${process} ${activityText(activity)}.`
}

function missingText(late: readonly AbsentMember[], unrecorded: number | null): string {
  if (unrecorded === null) return ''
  if (unrecorded === 0) return late.length === 0 ? 'All processes of the job have called it.' : ''
  const count = unrecorded === 1 ? 'one process' : `${unrecorded} processes`
  return late.length === 0
    ? `The process for which they wait is one of ${count} of which there are no rows.`
    : `There are no rows of ${count} of the job.`
}
