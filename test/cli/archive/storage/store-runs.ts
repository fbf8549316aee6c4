import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRowsWriter } from '../../../../cli/archive/storage/rows-writer.ts'
import { endedObserver, recordedLog } from '../observers.ts'

// A program that stores the recorded run in each of these folders, as an archive does if the runs
// end at the same time. It prints the logs with rows, and why rows are missing, of a run whose
// second observer found no process. tap cannot load the library that writes Parquet.

const WRITER = createRowsWriter()

/** Writes the logs of the observers of a run. */
function logsIn(folder: string, texts: Readonly<Record<string, string>>) {
  mkdirSync(folder, { recursive: true })
  return Object.entries(texts).map(([metric, text]) => {
    const file = join(folder, `${metric}.log`)
    writeFileSync(file, text)
    return { file, observer: endedObserver('lammps-0', metric) }
  })
}

const VITALS = recordedLog('lammps-0.vitals')
const PRESSURE = recordedLog('lammps-0.pressure')

async function storeRun(folder: string): Promise<void> {
  const logs = logsIn(folder, { vitals: VITALS, pressure: PRESSURE })
  const run = { folder, logs, title: 'x' }
  const problems = [await WRITER.rows(run), await WRITER.page(run)]
  if (problems.some((one) => typeof one === 'string')) throw new Error(problems.join())
  for (const { file } of logs) rmSync(file)
}

const folders = process.argv.slice(2)
await Promise.all(folders.map(storeRun))

const folder = mkdtempSync(join(tmpdir(), 'ridealong-runs-'))
const START = 'METRICS OPERATOR COLLECTION START'
const empty = `${PRESSURE.split(START)[0]}${START}\nMETRICS OPERATOR COLLECTION END\n`
const written = await WRITER.rows({
  folder,
  logs: logsIn(folder, { vitals: VITALS, pressure: empty }),
  title: 'x',
})
rmSync(folder, { recursive: true })
process.stdout.write(JSON.stringify(written))
