import type { Sample } from '../../log/columns.ts'
import { startTimepointRows } from '../../log/timepoint-rows.ts'
import type { LiveStore } from '../../rules/stuck.ts'
import {
  addMpiRow,
  MAX_PROCESSES,
  MPI_METRIC,
  type MpiRun,
  newMpiRun,
  sizeOf,
  withoutEnded,
} from './mpi-run.ts'

/** The sections that say whether a process makes progress. */
export const PROGRESS_SECTIONS: ReadonlySet<string> = new Set(['rank', 'open', 'progress', 'start'])

/** @param source identifies the pod */
export function startLiveProcesses(source: string): LiveStore<MpiRun> {
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
  return { ...taken, store: () => run }
}
