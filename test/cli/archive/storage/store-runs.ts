import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRowsWriter } from '../../../../cli/archive/storage/rows-writer.ts'
import { endedObserver, recordedLog } from '../observers.ts'

// A program that stores the recorded run in each of these folders, as an archive does if the runs
// end at the same time. tap cannot load the library that writes Parquet.

const WRITER = createRowsWriter()

async function storeRun(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const logs = ['vitals', 'pressure'].map((metric) => {
    const file = join(folder, `${metric}.log`)
    writeFileSync(file, recordedLog(`lammps-0.${metric}`))
    return { file, observer: endedObserver('lammps-0', metric) }
  })
  const run = { folder, logs, title: 'x' }
  const problems = [await WRITER.rows(run), await WRITER.page(run)]
  if (problems.some((one) => typeof one === 'string')) throw new Error(problems.join())
  for (const { file } of logs) rmSync(file)
}

await Promise.all(process.argv.slice(2).map(storeRun))
