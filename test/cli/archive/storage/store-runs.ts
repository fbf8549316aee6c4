import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VOLUME_FILES } from '../../../../cli/archive/storage/volume-files.ts'
import { writeRows } from '../../../../cli/archive/storage/write-run.ts'
import { BUILT_IN_ROWS } from '../../../src/runs/log/built-in.ts'
import { endedObserver, recordedLog } from '../observers.ts'

// A program that stores the recorded run in each of these folders, as an archive does. tap cannot
// load the library that writes Parquet.

async function storeRun(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const logs = ['vitals', 'pressure'].map((metric) => {
    const file = join(folder, `${metric}.log`)
    writeFileSync(file, recordedLog(`lammps-0.${metric}`))
    return { file, observer: endedObserver('lammps-0', metric) }
  })
  await writeRows(VOLUME_FILES, { folder, logs, title: 'x' }, BUILT_IN_ROWS)
  for (const { file } of logs) rmSync(file)
}

for (const folder of process.argv.slice(2)) await storeRun(folder)
