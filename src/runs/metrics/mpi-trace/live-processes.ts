import type { Sample } from '../../log/columns.ts'
import { startTimepointRows, type TimepointRows } from '../../log/timepoint-rows.ts'
import { addMpiRow, MPI_METRIC, type MpiRun, newMpiRun } from './mpi-run.ts'

/** The processes of MPI in a log that grows, as its last rows describe them. */
export interface LiveProcesses extends TimepointRows {
  readonly calls: () => Pick<MpiRun, 'processes' | 'starting'>
}

/** The sections that say whether a process makes progress. */
export const PROGRESS_SECTIONS: ReadonlySet<string> = new Set(['rank', 'open', 'progress', 'start'])

/** The most processes. The recorder has at most 128 in a pod; more are not from an observer. */
const MAX_PROCESSES = 1024

/** @param source identifies the pod */
export function startLiveProcesses(source: string): LiveProcesses {
  let run = newMpiRun(true)
  let rows = 0
  const add = (section: string, row: Sample) => {
    rows += 1
    // All processes are looked through, so that must not happen for each row of a full log.
    if (sizeOf(run) >= MAX_PROCESSES && rows >= MAX_PROCESSES / 2) {
      run = withoutEnded(run)
      rows = 0
    }
    if (sizeOf(run) < MAX_PROCESSES) addMpiRow(run, section, row)
  }
  const taken = startTimepointRows({
    source,
    metric: MPI_METRIC,
    reads: (section) => PROGRESS_SECTIONS.has(section),
    add,
    forget: () => {
      run = newMpiRun(true)
    },
  })
  return { ...taken, calls: () => run }
}

function sizeOf({ processes, starting }: MpiRun): number {
  return processes.length + starting.size
}

/** Forgets processes that have ended. Those that have replaced each other use up the room. */
function withoutEnded(run: MpiRun): MpiRun {
  const processes = run.processes.filter(({ state }) => state === 'running')
  const kept = new Set(processes)
  const running = [...run.running].filter(([, process]) => kept.has(process))
  const starting = [...run.starting].filter(([, { endedAt }]) => endedAt === null)
  return { ...run, processes, running: new Map(running), starting: new Map(starting) }
}
