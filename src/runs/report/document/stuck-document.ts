import { rounded } from '../../../lib/round.ts'
import type { AbsentProcess, StuckProcesses } from '../../metrics/mpi-trace/stuck-processes.ts'
import type {
  AbsentMember,
  StartingMember,
  StuckStart,
} from '../../metrics/mpi-trace/stuck-start.ts'
import type { WaitingProcess } from '../../metrics/mpi-trace/waiting-processes.ts'
import type { LateRank, StuckRanks } from '../../metrics/nccl-ras/stuck-ranks.ts'
import type {
  LatePython,
  StuckPython,
  WaitingPython,
} from '../../metrics/python-profile/stuck-python.ts'
import type { PythonProcess } from '../../waiting/current-stacks.ts'

/** Returns the processes that make no progress, with rounded numbers. */
export function stuckDocument(stuck: StuckProcesses | StuckStart | StuckRanks | StuckPython) {
  switch (stuck.why) {
    case 'start':
      return startDocument(stuck)
    case 'nccl-late':
    case 'nccl-mismatch':
      return ranksDocument(stuck)
    case 'python-late':
    case 'python-loader':
      return pythonDocument(stuck)
    default:
      return callsDocument(stuck)
  }
}

function ranksDocument({ why, answer, communicator, late, waiting, waited }: StuckRanks) {
  const { name, size, ahead, operation, launched } = communicator
  return {
    why,
    communicator: { name, size, ahead, operation, launched },
    waiting: waiting.map(({ rank, pod }) => ({ rank: pod, ncclRank: rank })),
    late: late.map(lateRankDocument),
    unchangedSeconds: waited === null ? null : rounded(waited),
    unrecorded: null,
    longestGapSeconds: rounded(answer.longestGap),
  }
}

function lateRankDocument({ rank, pod, process, activity, line, ...facts }: LateRank) {
  const { host, pid, state, launched, behind, operation, unchanged } = facts
  return {
    ...{ rank: pod, ncclRank: rank, worldRank: process?.worldRank ?? null },
    ...{ program: process?.program ?? null, host, pid, state },
    ...{ activity: activity?.is ?? null, pythonLine: line, launched, behind, operation },
    seconds: unchanged === null ? null : rounded(unchanged),
  }
}

function pythonDocument({ why, waiting, late, longestGap }: StuckPython) {
  return {
    why,
    waiting: waiting.map(waitingPythonDocument),
    late: late.map(latePythonDocument),
    unrecorded: null,
    longestGapSeconds: rounded(longestGap),
  }
}

function waitingPythonDocument({ process, line }: WaitingPython) {
  return { ...processDocument(process), pythonLine: line }
}

function latePythonDocument({ process, workers }: LatePython) {
  return { ...processDocument(process), loaders: workers.map(processDocument) }
}

function processDocument({ pod, program, pid, line, hasEnded, ...facts }: PythonProcess) {
  const { isRunning, unchanged } = facts
  const known = isRunning === null ? null : isRunning ? 'running' : 'waiting'
  return {
    ...{ rank: pod, program, pid, activity: hasEnded ? 'ended' : known, pythonLine: line },
    seconds: rounded(unchanged),
  }
}

function startDocument({ why, waiting, late, unrecorded }: StuckStart) {
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
    ...{ rank: pod, mpiRank: rank, program, pid },
    ...{ call, ...NO_MEMBERS },
    sinceSeconds: rounded(Math.max(seconds - waited, 0)),
    seconds: rounded(waited),
  }
}

function absentDocument({ member, activity }: AbsentMember) {
  const { pod, rank, program, pid, call, waited } = member
  const end = activity.is === 'ended' ? activity.state : null
  return {
    ...{ rank: pod, mpiRank: rank, program, pid },
    ...{ activity: activity.is, end, call },
    seconds: rounded(waited),
  }
}

function callsDocument({ why, waiting, late, unrecorded, longestGap }: StuckProcesses) {
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

function lateDocument({ process, activity, call, line, away }: AbsentProcess) {
  const state = activity.is === 'ended' ? activity.state : null
  return {
    ...{ rank: process.pod, mpiRank: process.rank },
    ...{ activity: activity.is, end: state, call, pythonLine: line },
    seconds: rounded(away),
  }
}
