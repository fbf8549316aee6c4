import { durationText } from '../../../lib/duration.ts'
import { maximum, minimum } from '../../../lib/statistics.ts'
import { sinceText } from '../../rules/stuck.ts'
import { largestFirst, nameGroups } from '../../waiting/named-groups.ts'
import { differentRootsText, stalledText } from './disagreement-text.ts'
import { ranksText } from './mpi-job.ts'
import type { AbsentProcess, StuckProcesses } from './stuck-processes.ts'
import type { WaitingProcess } from './waiting-processes.ts'

/**
 * Describes processes that made no progress when a log ended. Returns one sentence or more. Times
 * are those since the beginning of the log.
 */
export function describeStuck(stuck: StuckProcesses): string {
  const { waiting } = stuck
  const since = minimum(waiting.map(({ open, waited }) => open.seconds - waited)) ?? 0
  return describe(sinceText(since), stuck)
}

/** Describes processes that make no progress now, for how long. Returns one sentence or more. */
export function describeStuckNow(stuck: StuckProcesses): string {
  const longest = maximum(stuck.waiting.map(({ waited }) => waited)) ?? 0
  return describe(`For ${durationText(longest)}`, stuck)
}

function describe(beginning: string, stuck: StuckProcesses): string {
  const all = `${beginning}, ${waitsText(stuck.waiting)}.`
  return [all, reasonText(stuck), unrecordedText(stuck)].filter((text) => text !== '').join(' ')
}

function waitsText(waiting: readonly WaitingProcess[]): string {
  const groups = largestFirst(Map.groupBy(waiting, callText))
  const { texts, others } = nameGroups(groups, (first, own) => {
    return `${namesOf(own)} ${own.length === 1 ? 'waits' : 'wait'} in ${callText(first)}`
  })
  const more = others === 0 ? '' : `, and ${others} more in other calls`
  return `${texts.join(', ')}${more}`
}

/** Returns the name of a call, with its number and communicator, or with its peer. */
export function callText({ thread }: Pick<WaitingProcess, 'thread'>): string {
  const { call, number, communicator, peer, transfer } = thread
  const where = communicator === 'world' ? 'MPI_COMM_WORLD' : `the communicator ${communicator}`
  if (number !== null) return `${call} number ${number.toLocaleString('en')} on ${where}`
  if (peer === null || transfer === null) return call
  return `${call} for MPI rank ${peer}`
}

function namesOf(all: readonly Pick<AbsentProcess, 'process'>[]): string {
  return ranksText(all.map(({ process }) => process))
}

function reasonText(stuck: StuckProcesses): string {
  const { why, waiting, late, longestGap } = stuck
  switch (why) {
    case 'deadlock':
      return 'This is a deadlock: they wait for each other.'
    case 'mismatch':
      return waiting.some(({ thread }) => thread.call === 'MPI_Finalize')
        ? 'These calls do not match: a process has called MPI_Finalize too early.'
        : 'These calls do not match: all members of a communicator must make its collective ' +
            'calls in the same order.'
    case 'roots':
      return differentRootsText(stuck)
    case 'stalled':
      return stalledText(stuck)
    case 'unrecorded':
      return ''
    case 'late':
      return lateTexts(late, longestGap)
  }
}

/** The most late processes that a text describes. */
function lateTexts(late: readonly AbsentProcess[], longestGap: number): string {
  const textOf = (one: AbsentProcess, count: number) =>
    `${comesText(one, count)} ${activityText(one, count, longestGap)}`
  const groups = Map.groupBy(late, (one) => textOf(one, 1))
  const { texts } = nameGroups(groups, (first, own) => {
    return `${namesOf(own)} ${textOf(first, own.length)}.`
  })
  return texts.join(' ')
}

/** Returns whether processes have come to the call, and the pronoun for what they do. */
function comesText({ isInCall }: AbsentProcess, count: number): string {
  if (count === 1) return isInCall ? 'has come, but it' : 'has not come: it'
  return isInCall ? 'have come, but they' : 'have not come: they'
}

function activityText(
  { activity, call, line, away }: AbsentProcess,
  count: number,
  gap: number,
): string {
  const verb = (one: string, several: string) => (count === 1 ? one : several)
  const inside = [call, line].map((place) => (place === null ? '' : ` in ${place}`)).join('')
  switch (activity.is) {
    case 'ended':
      return ENDS[activity.state] ?? 'ended without MPI_Finalize'
    case 'stopped':
      return `${verb('is', 'are')} stopped${inside}`
    case 'storage':
      return `${verb('waits', 'wait')} for storage${inside}`
    case 'sleeping':
      return `${verb('sleeps', 'sleep')} in a system call${inside}`
    case 'waiting':
      return `${verb('waits', 'wait')}${inside}`
    case 'computing':
      return (
        `${verb('computes', 'compute')}${inside} for ${durationText(away)}; the longest time ` +
        `between two collective calls before was ${durationText(gap)}`
      )
  }
}

const ENDS: Readonly<Record<string, string>> = {
  finalized: 'called MPI_Finalize',
  exited: 'exited without MPI_Finalize',
  aborted: 'called MPI_Abort',
}

function unrecordedText({ why, unrecorded }: StuckProcesses): string {
  if (unrecorded === 0) return ''
  const count = unrecorded === 1 ? 'one process' : `${unrecorded} processes`
  return why === 'unrecorded'
    ? `The process for which they wait is one of ${count} of which there are no rows.`
    : `The late rank may also be one of ${count} of which there are no rows.`
}
