import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type KeptRun, logId } from '../../../../cli/archive/storage/kept-logs.ts'
import type { RowsWriter } from '../../../../cli/archive/storage/rows-writer.ts'
import { openRunStorage } from '../../../../cli/archive/storage/stored-runs.ts'
import {
  VOLUME_FILES,
  type VolumeFile,
  type VolumeFiles,
  writeWhole,
} from '../../../../cli/archive/storage/volume-files.ts'
import { openVolumeFolders } from '../../../../cli/archive/storage/volume-folders.ts'
import { writeRows } from '../../../../cli/archive/storage/write-run.ts'
import { BUILT_IN_ROWS } from '../../../src/runs/log/built-in.ts'
import { endedObserver, recordedLog } from '../observers.ts'

// A program that ends an archive at each of its operations on the volume, and then starts one that
// goes on. It prints the problems that it finds as JSON. With the number of a step, the program
// kills itself at this step.

const RUN: KeptRun = { key: '["hpc","1",null]', namespace: 'hpc', name: 'lammps-1', title: 'x' }
const STARTED = Date.UTC(2026, 0, 1, 23, 59)
const LOGS = [
  { observer: endedObserver('lammps-0', 'vitals'), text: recordedLog('lammps-0.vitals') },
  { observer: endedObserver('lammps-0', 'pressure'), text: recordedLog('lammps-0.pressure') },
]

class Killed extends Error {}

/** Ends at an operation: neither it nor a later one has an effect. */
function killedAt(step: number): VolumeFiles {
  let steps = 0
  const isOver = () => {
    steps += 1
    return steps >= step
  }
  const unlessKilled = async <Result>(operation: () => Promise<Result>) => {
    if (isOver()) throw new Killed()
    return operation()
  }
  const asKilled = (file: VolumeFile): VolumeFile => ({
    async append(content) {
      const wasOver = steps >= step
      if (!isOver()) return file.append(content)
      // A part of the content is written.
      if (!wasOver) await file.append(content.slice(0, content.length / 2))
      throw new Killed()
    },
    sync: () => unlessKilled(() => file.sync()),
    // The system closes the files of a killed process.
    close: () => file.close(),
  })
  const { createFolder, create, openAt, rename, remove, syncFolder } = VOLUME_FILES
  return {
    createFolder: (path) => unlessKilled(() => createFolder(path)),
    create: async (path) => asKilled(await unlessKilled(() => create(path))),
    openAt: async (path, size) => asKilled(await unlessKilled(() => openAt(path, size))),
    rename: (from, to) => unlessKilled(() => rename(from, to)),
    remove: (path) => unlessKilled(() => remove(path)),
    syncFolder: (path) => unlessKilled(() => syncFolder(path)),
  }
}

function writerOf(files: VolumeFiles): RowsWriter {
  return {
    rows: (run) => writeRows(files, run, BUILT_IN_ROWS),
    async page({ folder }) {
      await writeWhole(files, join(folder, 'report.html'), ['a page'])
      return undefined
    },
    close: async () => {},
  }
}

/** Keeps the logs in two parts each, stores their rows, and removes them. */
async function archive(root: string, files: VolumeFiles): Promise<void> {
  const folders = openVolumeFolders(root, files)
  const storage = await openRunStorage({ root, files, folders, writer: writerOf(files) })
  for (const { observer, text } of LOGS) {
    const id = logId(observer)
    const facts = { observer, started: STARTED, images: [], isDone: false, problem: null }
    await storage.logs.writeFacts(RUN, id, facts)
    for (const end of [text.length / 2, text.length]) {
      const { bytes } = await storage.logs.measure(RUN, id)
      const file = await storage.logs.open(RUN, id, bytes)
      await file.append(text.slice(bytes, end)).finally(() => file.close())
    }
    await storage.logs.writeFacts(RUN, id, { ...facts, isDone: true })
  }
  await storage.store({ run: RUN, logs: await storage.logs.read(RUN), card: undefined })
  await storage.writeIndexes(STARTED)
  await storage.logs.remove(RUN)
}

/** Returns the content of all files below the final names. */
function storedIn(root: string): ReadonlyMap<string, string> {
  const names = existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : []
  const files = names.filter((name) => /^namespace=.*\.(parquet|json|html|gz)$/.test(name))
  return new Map(files.sort().map((name) => [name, readFileSync(join(root, name), 'latin1')]))
}

type Stored = ReadonlyMap<string, string>

/** Returns the problems after a step. Undefined if the archive ended before it. */
async function killAndGoOn(
  above: string,
  { step, whole }: { readonly step: number; readonly whole: Stored },
): Promise<readonly string[] | undefined> {
  const root = mkdtempSync(join(above, 'killed-'))
  const error = await archive(root, killedAt(step)).catch((error: unknown) => error)
  if (error === undefined) return undefined
  if (!(error instanceof Killed)) throw error
  const left = storedIn(root)
  // If all is stored already, the next archive finds that out.
  await archive(root, VOLUME_FILES)
  const problems = [
    ...(isWhole(left, whole) ? [] : ['a part has a final name']),
    ...(isDeepStrictEqual(storedIn(root), whole) ? [] : ['the run is not there once']),
    ...(readdirSync(join(root, '.logs')).length === 0 ? [] : ['a log is left']),
  ]
  rmSync(root, { recursive: true })
  return problems.map((problem) => `step ${step}: ${problem}`)
}

/** Reports whether all files of the run are there or none, and each index is whole. */
function isWhole(left: Stored, whole: Stored): boolean {
  const ofRun = (stored: Stored) => [...stored.keys()].filter((name) => name.includes('run='))
  const [found, all] = [ofRun(left), ofRun(whole)]
  const isSame = [...left].every(([name, content]) => whole.get(name) === content)
  return isSame && [0, all.length].includes(found.length)
}

async function enumerate(above: string) {
  const root = join(above, 'whole')
  await archive(root, VOLUME_FILES)
  const whole = storedIn(root)
  const problems: string[] = []
  for (let step = 1; ; step += 1) {
    const found = await killAndGoOn(above, { step, whole })
    if (found === undefined) return { steps: step - 1, problems }
    problems.push(...found)
  }
}

const [, , folder = '', step] = process.argv
if (step === undefined) process.stdout.write(JSON.stringify(await enumerate(folder)))
else
  await archive(folder, killedAt(Number(step))).catch((error: unknown) => {
    if (!(error instanceof Killed)) throw error
    process.kill(process.pid, 'SIGKILL')
  })
