import { startTimepointRows } from '../../log/timepoint-rows.ts'
import type { LiveStore } from '../../rules/stuck.ts'
import { addNcclRow, NCCL_METRIC, type NcclRun, newNcclRun } from './nccl-run.ts'

/** The most processes, those that have ended included, before these are forgotten. */
const MAX_PROCESSES = 256

interface Last {
  readonly timepoint: number
  /** The seconds of the timepoint since the first one. */
  readonly seconds: number
}

const NONE: Last = { timepoint: 0, seconds: Number.NEGATIVE_INFINITY }

/** @param source identifies the pod */
export function startLiveAnswers(source: string): LiveStore<NcclRun> {
  let run = newNcclRun()
  let last = NONE
  const rows = startTimepointRows({
    source,
    metric: NCCL_METRIC,
    reads: () => true,
    add: (section, row) => {
      if (row.timepoint > last.timepoint) forgetOld(run, last)
      last = { timepoint: row.timepoint, seconds: row.seconds }
      addNcclRow(run, section, row)
    },
    forget: () => {
      run = newNcclRun()
      last = NONE
    },
  })
  return { ...rows, store: () => run }
}

/** Forgets the processes without a row in the last timepoint, if there are many. */
function forgetOld({ processes }: NcclRun, last: Last): void {
  if (processes.size < MAX_PROCESSES) return
  for (const [key, { seconds }] of processes) if (seconds < last.seconds) processes.delete(key)
}
