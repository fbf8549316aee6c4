import { readdirSync, readFileSync } from 'node:fs'
import { readLog } from '../../../../src/runs/log/read.ts'
import { addEntry, type CollectedRun, newRun } from '../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

/** A folder of recordings in test/logs. */
export type Recordings = 'all-metrics' | 'findings' | 'mpi' | 'profiles'

/** Returns the run of the recorded logs of a folder. */
export function recordedRun(name: Recordings): CollectedRun {
  const folder = new URL(`../../../logs/${name}/`, import.meta.url)
  const run = newRun(BUILT_IN_ROWS)
  for (const file of readdirSync(folder).sort())
    for (const entry of readLog(
      readFileSync(new URL(file, folder), 'utf8'),
      { source: file },
      BUILT_IN_ROWS,
    ))
      addEntry(run, entry)
  return run
}
