import { plot, type SectionColumns } from '../../evidence/evidence.ts'
import type { ExplainedRules, StuckGroup } from '../../rules/rule.ts'
import type { StuckFinder } from '../../rules/stuck.ts'
import { affectedByCalls, countedIn, STUCK_FACTS } from './calls-progress.ts'
import { mpiJobs } from './mpi-job.ts'
import { MPI_METRIC, newMpiRun } from './mpi-run.ts'
import { affectedByStart, countedStart } from './start-progress.ts'
import { describeStart, describeStartNow } from './start-text.ts'
import { callsDocument, startDocument } from './stuck-document.ts'
import { findStuckProcesses, type StuckProcesses } from './stuck-processes.ts'
import { findStuckStart, type StuckStart, startingJobs } from './stuck-start.ts'
import { describeStuck, describeStuckNow } from './stuck-text.ts'

const OPEN = {
  metric: MPI_METRIC,
  section: 'open',
  columns: ['elapsed'],
} as const satisfies SectionColumns

const RANK = {
  metric: MPI_METRIC,
  section: 'rank',
  columns: ['calls'],
} as const satisfies SectionColumns

const START = {
  metric: MPI_METRIC,
  section: 'start',
  columns: ['waited'],
} as const satisfies SectionColumns

/** The sections that say whether a process makes progress. */
const PROGRESS_SECTIONS: ReadonlySet<string> = new Set(['rank', 'open', 'progress', 'start'])

const EXPLAINS_WAITING = {
  rules: ['much-time-in-mpi', 'waiting-in-collectives', 'waiting-in-point-to-point'],
  of: 'any pod',
  because: 'the processes wait in a call of MPI that does not end',
} as const satisfies ExplainedRules

/**
 * Finds the processes of an MPI job that make no progress. Only the last calls that the rows show
 * count, so a job that goes on has none. For the comparison, see `findStuckProcesses`.
 */
export const MPI_STUCK = {
  needs: [
    { ...OPEN, isTotal: true },
    { ...START, isTotal: true },
  ],
  reads: [OPEN, RANK, START],
  plots: [plot(RANK, 'calls')],
  facts: STUCK_FACTS,
  condition:
    'processes are in the same call of MPI at two timepoints, and wait for each other, are in ' +
    'different collective calls of a communicator, or in the same one with different roots, or ' +
    'wait for a process that has ended or was stopped. Or they wait for at least 10 s for a ' +
    'process that sleeps or waits for storage, and has not used a processor for 10 s; or for ' +
    'any other process, for at least 60 s and ten times the longest time between two collective ' +
    'calls of the run. Or all members of a communicator have begun a collective call, or all ' +
    'processes of a job are in calls, and none has left its call for as long, and for ten times ' +
    'the longest call that was seen before (5 min in the first collective call of a ' +
    'communicator, and in MPI_Finalize). For a process that has begun no collective call, they ' +
    'wait for at least 5 min. Or they wait in MPI_Init for a process that has ended or was ' +
    'stopped, or for at least 5 min',
  source:
    'the order of collective calls: MPI 4.0, 6.14; their roots: MPI 4.0, 6.4; the late rank: ' +
    'STAT and the Flight Recorder of PyTorch',
  explains: EXPLAINS_WAITING,
  live: {
    isRead: (section) => PROGRESS_SECTIONS.has(section),
    create: () => newMpiRun(true),
    countsEnded: true,
  },
  find: ({ view }) => [
    ...view(startingJobs).flatMap(findStuckStart).flatMap(countedStart).map(startGroup),
    ...view(mpiJobs).flatMap(findStuckProcesses).flatMap(countedIn).map(callsGroup),
  ],
} as const satisfies StuckFinder

function startGroup(stuck: StuckStart): StuckGroup {
  return {
    pods: affectedByStart(stuck),
    describe: () => describeStart(stuck),
    describeNow: () => describeStartNow(stuck),
    document: () => startDocument(stuck),
  }
}

function callsGroup(stuck: StuckProcesses): StuckGroup {
  return {
    pods: affectedByCalls(stuck),
    hasEnded: stuck.waiting.every(({ process }) => process.state !== 'running'),
    describe: () => describeStuck(stuck),
    describeNow: () => describeStuckNow(stuck),
    document: () => callsDocument(stuck),
  }
}
