import { nameGroups } from '../../waiting/named-groups.ts'
import type { CollectiveCall } from './collective-arguments.ts'
import { ranksText } from './mpi-job.ts'
import type { StuckProcesses } from './stuck-processes.ts'
import { isInCall, isOnWindow, type WaitingProcess } from './waiting-processes.ts'

/** Says which processes call a collective function with which root. */
export function differentRootsText({ call, waiting }: StuckProcesses): string {
  const own = call === undefined ? [] : waitingIn(waiting, call)
  const known = own.filter(({ thread }) => thread.peer !== null)
  const groups = Map.groupBy(known, ({ thread }) => thread.peer)
  const { texts, others } = nameGroups(groups, ({ thread }, all, index) => {
    const verb = index > 0 ? '' : ` ${all.length === 1 ? 'calls' : 'call'} ${functionOf(all)}`
    return `${ranksOf(all)}${verb} with MPI rank ${thread.peer} as root`
  })
  const more = others === 0 ? '' : `, and ${others} more with other roots`
  return `The roots differ: ${texts.join(', ')}${more}.`
}

/** Says that no process leaves its call, and names the arguments that the rows do not have. */
export function stalledText({ stalled, waiting }: StuckProcesses): string {
  if (stalled?.call == null) return [ALL_WAIT, ...windowTexts(waiting)].join(' ')
  const own = waitingIn(waiting, stalled.call)
  const isAll = own.length === stalled.processes
  return [isAll ? ALL_IN_CALL : leftText(own), ...notRecordedText(own, isAll)].join(' ')
}

const ALL_WAIT = 'All processes of the job wait, and none leaves its call.'
const ALL_IN_CALL = 'All members of the communicator are in this call, and none leaves it.'

/** Names the processes that are still in a call that other members have left. */
function leftText(own: readonly WaitingProcess[]): string {
  const verb = own.length === 1 ? 'does' : 'do'
  const all = `All members of the communicator have begun ${functionOf(own)}`
  return `${all}, but ${ranksOf(own)} ${verb} not leave it.`
}

/** The collective calls that have no data, or whose counts and types may differ. */
const WITHOUT_DATA = /^MPI_(Barrier|Finalize|(Comm|Win|File|Cart|Graph|Dist|Intercomm|Neighbor)_)/

/** Says which arguments of a collective call are the same, and which are not recorded. */
function notRecordedText(own: readonly WaitingProcess[], isAll: boolean): readonly string[] {
  if (!isAll) return ['The rows do not have the arguments of the other members.']
  if (WITHOUT_DATA.test(functionOf(own))) return []
  const hasRoot = own.every(({ thread }) => thread.peer !== null)
  const same = hasRoot ? 'The functions and roots are the same' : 'The functions are the same'
  return [`${same}; the rows do not have counts, datatypes and operations.`]
}

/** When the calls on windows return (MPI 4.0, 12.5). */
const RETURNS: readonly (readonly [RegExp, string])[] = [
  [/_(fence|free)$/, 'returns when all members of the window have called it'],
  [/_wait$/, 'returns when the processes that MPI_Win_post names have called MPI_Win_complete'],
  [/_start$/, 'returns when the processes that it names have called MPI_Win_post'],
  [/_complete$/, 'returns when the processes that MPI_Win_start names have called MPI_Win_post'],
  [/_lock(_all)?$/, 'returns when no other process has a lock that excludes it'],
  [/Win_/, 'returns when the process has its lock, and its operations are complete'],
  [/./, 'may wait until the other process has made its memory accessible'],
]

function windowTexts(waiting: readonly WaitingProcess[]): readonly string[] {
  const threads = waiting.map(({ thread }) => thread).filter(isOnWindow)
  const texts = [...new Set(threads.map(({ call }) => call))].flatMap((call) => {
    const [, text] = RETURNS.find(([name]) => name.test(call)) ?? []
    return text === undefined ? [] : [`${call} ${text}.`]
  })
  return texts.length === 0 ? [] : [...texts, 'The rows do not have the members of windows.']
}

function waitingIn(
  waiting: readonly WaitingProcess[],
  call: CollectiveCall,
): readonly WaitingProcess[] {
  return waiting.filter(({ process }) => isInCall(process, call))
}

/** @param waiting processes in the same collective call */
function functionOf([first]: readonly WaitingProcess[]): string {
  return first?.thread.call ?? 'the call'
}

function ranksOf(waiting: readonly WaitingProcess[]): string {
  return ranksText(waiting.map(({ process }) => process))
}
