import { rounded } from '../../../lib/round.ts'
import type { AbsentProcess, StuckProcesses } from './stuck-processes.ts'
import type { AbsentMember, StartingMember, StuckStart } from './stuck-start.ts'
import type { WaitingProcess } from './waiting-processes.ts'

/** Returns the processes that wait in MPI_Init, with rounded numbers. */
export function startDocument({ why, waiting, late, unrecorded }: StuckStart) {
  return {
    why,
    waiting: waiting.map(startingDocument),
    late: late.map(absentDocument),
    unrecorded,
    longestGapSeconds: null,
  }
}

/** The members of a call that MPI_Init does not have. */
const NO_MEMBERS = { communicator: null, number: null, mpiPeer: null } as const

function startingDocument(member: StartingMember) {
  const { pod, rank, program, pid, call, seconds, waited } = member
  return {
    podIndex: pod,
    mpiRank: rank,
    program,
    pid,
    call,
    ...NO_MEMBERS,
    sinceSeconds: rounded(Math.max(seconds - waited, 0)),
    seconds: rounded(waited),
  }
}

function absentDocument({ member, activity }: AbsentMember) {
  const { pod, rank, program, pid, call, waited } = member
  const end = activity.is === 'ended' ? activity.state : null
  return {
    podIndex: pod,
    mpiRank: rank,
    program,
    pid,
    activity: activity.is,
    end,
    call,
    seconds: rounded(waited),
  }
}

/** Returns the processes that wait in other calls, with rounded numbers. */
export function callsDocument({ why, waiting, late, unrecorded, longestGap }: StuckProcesses) {
  return {
    why,
    waiting: waiting.map(waitingDocument),
    late: late.map(lateDocument),
    unrecorded,
    longestGapSeconds: rounded(longestGap),
  }
}

function waitingDocument({ process, open, thread, waited }: WaitingProcess) {
  const { call, communicator, number, peer } = thread
  return {
    podIndex: process.pod,
    mpiRank: process.rank,
    call,
    communicator,
    number,
    mpiPeer: peer,
    sinceSeconds: rounded(Math.max(open.seconds - waited, 0)),
    seconds: rounded(waited),
  }
}

function lateDocument({ process, activity, call, line, away }: AbsentProcess) {
  const state = activity.is === 'ended' ? activity.state : null
  return {
    podIndex: process.pod,
    mpiRank: process.rank,
    activity: activity.is,
    end: state,
    call,
    pythonLine: line,
    seconds: rounded(away),
  }
}
