import { rounded } from '../../../lib/round.ts'
import type { AbsentProcess, StuckProcesses } from '../../mpi/stuck-processes.ts'
import type { WaitingProcess } from '../../mpi/waiting-processes.ts'

/** Returns the processes that make no progress, with rounded numbers. */
export function stuckDocument({ why, waiting, late, unrecorded, longestGap }: StuckProcesses) {
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
    ...{ rank: process.pod, mpiRank: process.rank },
    ...{ call, communicator, number, mpiPeer: peer },
    sinceSeconds: rounded(Math.max(open.seconds - waited, 0)),
    seconds: rounded(waited),
  }
}

function lateDocument({ process, activity, call, away }: AbsentProcess) {
  const state = activity.is === 'ended' ? activity.state : null
  return {
    ...{ rank: process.pod, mpiRank: process.rank },
    ...{ activity: activity.is, end: state, call },
    seconds: rounded(away),
  }
}
