import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  type BucketClient,
  connectBucket,
} from '../../../../cli/archive/storage/bucket/bucket-client.ts'
import { openBucketFolders } from '../../../../cli/archive/storage/bucket/bucket-folders.ts'
import { type KeptRun, logId } from '../../../../cli/archive/storage/kept-logs.ts'
import type { RowsWriter } from '../../../../cli/archive/storage/rows-writer.ts'
import type { RunFolders } from '../../../../cli/archive/storage/run-folders.ts'
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
import { type BucketStandIn, startBucket } from '../../../stand-ins/bucket.ts'
import { endedObserver, recordedLog } from '../observers.ts'

// A program that ends an archive at each of its operations on the volume and in the bucket, and
// then starts one that goes on. It prints the problems that it finds as JSON. With the number of
// a step, the program kills itself at this step.

const RUN: KeptRun = { key: '["hpc","1",null]', namespace: 'hpc', name: 'lammps-1', title: 'x' }
const STARTED = Date.UTC(2026, 0, 1, 23, 59)
const logOf = (pod: string, metric: string, started = STARTED) => ({
  ...{ observer: endedObserver(pod, metric), text: recordedLog(`${pod}.${metric}`), started },
})
const LOGS = [logOf('lammps-0', 'vitals'), logOf('lammps-0', 'pressure')]
/** The log of a pod that the run got after the archive was killed, on the next day. */
const LATER = logOf('lammps-1', 'pressure', STARTED + 60_000)

class Killed extends Error {}

/** The operations of an archive that change the volume or ask the bucket. */
interface Operations {
  readonly files: VolumeFiles
  readonly wrap: (client: BucketClient) => BucketClient
}

const ALIVE: Operations = { files: VOLUME_FILES, wrap: (client) => client }

/** Ends at an operation: neither it nor a later one has an effect. */
function killedAt(step: number): Operations {
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
  const files: VolumeFiles = {
    createFolder: (path) => unlessKilled(() => createFolder(path)),
    create: async (path) => asKilled(await unlessKilled(() => create(path))),
    openAt: async (path, size) => asKilled(await unlessKilled(() => openAt(path, size))),
    rename: (from, to) => unlessKilled(() => rename(from, to)),
    async remove(path) {
      const wasOver = steps >= step
      if (!isOver()) return remove(path)
      // A part of the folder is removed.
      if (!wasOver) for (const name of halfOf(path)) await remove(join(path, name))
      throw new Killed()
    },
    syncFolder: (path) => unlessKilled(() => syncFolder(path)),
  }
  return { files, wrap: (client) => killedClient(client, unlessKilled) }
}

function halfOf(folder: string): readonly string[] {
  const names = statSync(folder, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(folder)
    : []
  return names.sort().slice(names.length / 2)
}

type UnlessKilled = <Result>(operation: () => Promise<Result>) => Promise<Result>

/** An archive can end before a request, and after a request has changed the bucket. */
function killedClient(client: BucketClient, unlessKilled: UnlessKilled): BucketClient {
  const change = async (request: () => Promise<void>) => {
    await unlessKilled(request)
    await unlessKilled(async () => {})
  }
  return {
    put: (key, content) => change(() => client.put(key, content)),
    delete: (key) => change(() => client.delete(key)),
    get: (key) => unlessKilled(() => client.get(key)),
    async *list(prefix) {
      await unlessKilled(async () => {})
      yield* client.list(prefix)
    },
    read: (key) => client.read(key),
    async *listFolders(prefix) {
      await unlessKilled(async () => {})
      yield* client.listFolders(prefix)
    },
    close: () => client.close(),
  }
}

/** Where the rows are stored: on the volume, or in a bucket. */
interface Place {
  /** Ends at one of the operations of this place. */
  killedAt(step: number): Operations
  open(root: string, operations: Operations): RunFolders
  /** Returns the content of all files of runs. */
  read(root: string): Stored
  /** Reports whether a reader sees all of the run or nothing, and whole indexes. */
  isWhole(left: Stored, whole: Stored): boolean
  clear(root: string): void
}

type Stored = ReadonlyMap<string, string>

const VOLUME: Place = {
  killedAt,
  open: (root, { files }) => openVolumeFolders(root, files),
  read: storedIn,
  isWhole: (left, whole) =>
    isPart(left, whole) && [0, ofRuns(whole).length].includes(ofRuns(left).length),
  clear: (root) => rmSync(root, { recursive: true }),
}

function placeOf({ objects, settings }: BucketStandIn): Place {
  return {
    // The operations on the volume are those of an archive without a bucket.
    killedAt: (step) => ({ ...killedAt(step), files: VOLUME_FILES }),
    open: (_root, { wrap }) => openBucketFolders(wrap(connectBucket(settings)), ''),
    read: () =>
      new Map([...objects].sort().map(([key, { body }]) => [key, body.toString('latin1')])),
    // Whole files without run.json are no run.
    isWhole(left, whole) {
      const isThere = ofRuns(left).some((key) => key.endsWith('/run.json'))
      const isAll = ofRuns(left).length === ofRuns(whole).length
      return isPart(left, whole) && (isAll || !isThere)
    },
    clear(root) {
      objects.clear()
      rmSync(root, { recursive: true })
    },
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
async function archive(
  root: string,
  operations: Operations,
  place: Place,
  logs = LOGS,
): Promise<void> {
  const [{ files }, folders] = [operations, place.open(root, operations)]
  const storage = await openRunStorage({ root, files, folders, writer: writerOf(files) })
  for (const { observer, text, started } of logs) {
    const id = logId(observer)
    const facts = { observer, started, images: [], isDone: false, problem: null }
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

interface Step {
  readonly step: number
  /** The files of LOGS. */
  readonly whole: Stored
}

/** Returns the problems after a step. Undefined if the archive ended before it. */
async function killAndGoOn(
  above: string,
  { step, whole }: Step,
  place: Place,
): Promise<readonly string[] | undefined> {
  const root = mkdtempSync(join(above, 'killed-'))
  const left = await kill(root, step, place)
  if (left === undefined) return undefined
  await archive(root, ALIVE, place)
  const problems = [
    ...(place.isWhole(left, whole) ? [] : ['a part has a final name']),
    ...(isDeepStrictEqual(place.read(root), whole) ? [] : ['the run is not there once']),
    ...findKept(root),
  ]
  place.clear(root)
  const isStored = ofRuns(left).length === ofRuns(whole).length
  const later = isStored ? await killAndGetPod(root, step, place) : []
  return [...problems, ...later].map((problem) => `step ${step}: ${problem}`)
}

/** Returns the files that an archive has left. Undefined if it ended before this step. */
async function kill(root: string, step: number, place: Place): Promise<Stored | undefined> {
  const error = await archive(root, place.killedAt(step), place).catch((error: unknown) => error)
  if (error === undefined) return undefined
  if (!(error instanceof Killed)) throw error
  return place.read(root)
}

/** Returns the problems if the run gets a new pod after the archive had stored it. */
async function killAndGetPod(root: string, step: number, place: Place): Promise<readonly string[]> {
  await kill(root, step, place)
  const logs = [...LOGS, LATER]
  await archive(root, ALIVE, place, logs)
  const problems = isThereOnce(place.read(root), logs)
    ? []
    : ['a log of two pods is not there once']
  const kept = findKept(root)
  place.clear(root)
  return [...problems, ...kept]
}

const findKept = (root: string) =>
  readdirSync(join(root, '.logs')).length === 0 ? [] : ['a log is left']

/** Reports whether the rows of each log are stored once. */
function isThereOnce(stored: Stored, logs: typeof LOGS): boolean {
  const texts = [...stored].flatMap(([name, text]) => (name.endsWith('/run.json') ? [text] : []))
  const runs = texts.map((text) => JSON.parse(text))
  const ids: readonly string[] = runs.flatMap((run) => run.logs)
  const withRows = runs.reduce((sum, { rows }) => sum + rows.logs.stored, 0)
  const expected = logs.map(({ observer }) => logId(observer))
  return isDeepStrictEqual(ids.toSorted(), expected.toSorted()) && withRows === logs.length
}

/** Returns the names of the files of runs; the others are those of indexes. */
const ofRuns = (stored: Stored) => [...stored.keys()].filter((name) => name.includes('run='))

const isPart = (left: Stored, whole: Stored) =>
  [...left].every(([name, content]) => whole.get(name) === content)

async function enumerate(above: string, place: Place) {
  const root = join(above, 'whole')
  await archive(root, ALIVE, place)
  const whole = place.read(root)
  place.clear(root)
  const problems: string[] = []
  for (let step = 1; ; step += 1) {
    const found = await killAndGoOn(above, { step, whole }, place)
    if (found === undefined) return { steps: step - 1, problems }
    problems.push(...found)
  }
}

async function enumerateAll(above: string) {
  const bucket = await startBucket()
  try {
    const volume = await enumerate(above, VOLUME)
    return { volume, bucket: await enumerate(above, placeOf(bucket)) }
  } finally {
    bucket.close()
  }
}

const [, , folder = '', step] = process.argv
if (step === undefined) process.stdout.write(JSON.stringify(await enumerateAll(folder)))
else
  await archive(folder, killedAt(Number(step)), VOLUME).catch((error: unknown) => {
    if (!(error instanceof Killed)) throw error
    process.kill(process.pid, 'SIGKILL')
  })
