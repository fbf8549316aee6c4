import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { asText, fieldsOrNone, listOrNone } from '../../../src/core/kubernetes/json.ts'
import {
  dayFolder,
  isRunFolder,
  namespaceFolder,
  type RunOfRows,
  readDay,
  runFolder,
} from '../../../src/runs/archive/rows-path.ts'
import { limitRows, type StoredRows } from '../../../src/runs/archive/stored-rows.ts'
import { sourceName } from '../../../src/runs/collect/observers.ts'
import {
  createKeptLogs,
  hashOf,
  type KeptFacts,
  type KeptLogs,
  type KeptRun,
  listNames,
  readJson,
} from './kept-logs.ts'
import type { RowsWriter } from './rows-writer.ts'
import { type VolumeFiles, writeWhole } from './volume-files.ts'
import type { RunToWrite, WrittenRows } from './write-run.ts'

/** A volume with the rows of runs. All functions throw errors of the system. */
export interface RunStorage {
  readonly logs: KeptLogs
  /**
   * Writes the rows and the page of a run from its kept logs. A folder with a final name is always
   * whole. Does nothing if these logs were stored before.
   */
  store(run: KeptRun, logs: ReadonlyMap<string, KeptFacts>): Promise<StoredRows>
  /** Removes the rows of a run. */
  remove(run: RunOfRows): Promise<void>
  /**
   * Removes the rows of the runs that started before a time and are not among these.
   *
   * @param before in milliseconds since 1970
   */
  removeOthers(kept: readonly RunOfRows[], before: number): Promise<void>
  close(): Promise<void>
}

const RUN_FILE = 'run.json'

interface Parts {
  readonly root: string
  readonly files: VolumeFiles
  readonly writer: RowsWriter
  readonly logs: KeptLogs
  /** The folder of folders that have no final name. */
  readonly partial: string
}

/**
 * Opens a volume, and removes the folders that an archive has left unfinished.
 *
 * @param root the mount point of the volume
 * @throws an error of the system if the volume cannot be written
 */
export async function openRunStorage(
  root: string,
  files: VolumeFiles,
  writer: RowsWriter,
): Promise<RunStorage> {
  const logs = createKeptLogs(root, files)
  const parts: Parts = { root, files, writer, logs, partial: join(root, '.partial') }
  await files.remove(parts.partial)
  await files.createFolder(parts.partial)
  return {
    logs,
    store: (run, facts) => store(parts, run, facts),
    async remove({ namespace, name }) {
      for (const folder of await listRunFolders(root, namespaceFolder(namespace)))
        if (isRunFolder(folder.name, name)) await removeFolder(parts, folder.path)
    },
    removeOthers: (kept, before) => removeOthers(parts, kept, before),
    close: () => writer.close(),
  }
}

async function store(
  parts: Parts,
  run: KeptRun,
  facts: ReadonlyMap<string, KeptFacts>,
): Promise<StoredRows> {
  const { root, files, partial } = parts
  const day = join(namespaceFolder(run.namespace), dayFolder(startOf(facts)))
  const place = await findPlace(root, day, run, facts)
  if (place.rows !== undefined) return place.rows
  const folder = join(partial, hashOf([run.key]))
  await files.remove(folder)
  await files.createFolder(folder)
  const rows = await writeRun(parts, run, { facts, folder, path: place.path })
  if (rows.path !== null) {
    const document = JSON.stringify({ ...run, rows, logs: [...facts.keys()] })
    await writeWhole(files, join(folder, RUN_FILE), [document])
    await files.syncFolder(folder)
    await files.createFolder(join(root, day))
    await files.rename(folder, join(root, place.path))
    for (const above of [join(root, day), dirname(join(root, day)), root])
      await files.syncFolder(above)
  } else await files.remove(folder)
  return rows
}

/** Returns when the first pod of the logs started, or now if it is not known. */
function startOf(facts: ReadonlyMap<string, KeptFacts>): number {
  const starts = [...facts.values()].flatMap(({ started }) => started ?? [])
  return starts.length === 0 ? Date.now() : starts.reduce((low, start) => Math.min(low, start))
}

/** Finds a free name for the folder of a run, or the folder that has its logs already. */
async function findPlace(
  root: string,
  day: string,
  { name }: KeptRun,
  facts: ReadonlyMap<string, KeptFacts>,
): Promise<{ readonly path: string; readonly rows?: StoredRows }> {
  for (let time = 1; ; time += 1) {
    const path = join(day, runFolder(name, time))
    if (!existsSync(join(root, path))) return { path }
    const { logs, rows } = fieldsOrNone(await readJson(join(root, path, RUN_FILE)))
    const isSame = listOrNone(logs).some((id) => facts.has(asText(id) ?? ''))
    if (isSame) return { path, rows: rows as StoredRows }
  }
}

interface Writing {
  readonly facts: ReadonlyMap<string, KeptFacts>
  readonly folder: string
  readonly path: string
}

async function writeRun(
  { writer, logs }: Parts,
  run: KeptRun,
  { facts, folder, path }: Writing,
): Promise<StoredRows> {
  const texts = [...facts].map(([id, { observer }]) => ({ file: logs.pathOf(run, id), observer }))
  const work: RunToWrite = { folder, logs: texts, title: run.title }
  const problems = [...facts.values()].flatMap(({ observer, problem }) => {
    return problem === null ? [] : [`${sourceName(observer)}: ${problem}`]
  })
  const written = await writer.rows(work)
  const rows: WrittenRows =
    typeof written === 'string' ? { rows: 0, logs: 0, missing: [written] } : written
  const counts = { stored: rows.logs, expected: facts.size }
  const missing = [...problems, ...rows.missing]
  if (rows.rows === 0) return limitRows({ path: null, hasPage: false, logs: counts, missing })
  const pageProblem = await writer.page(work)
  return limitRows({
    ...{ path, hasPage: pageProblem === undefined, logs: counts },
    missing: pageProblem === undefined ? missing : [pageProblem, ...missing],
  })
}

interface FoundFolder {
  readonly path: string
  readonly name: string
  /** In milliseconds since 1970. */
  readonly day: number
}

async function listRunFolders(root: string, namespace: string): Promise<readonly FoundFolder[]> {
  const days = await listNames(join(root, namespace))
  const found = days.map(async (date) => {
    const day = readDay(date)
    if (day === undefined) return []
    const names = await listNames(join(root, namespace, date))
    return names.map((name) => ({ path: join(root, namespace, date, name), name, day }))
  })
  return (await Promise.all(found)).flat()
}

/** A folder loses its final name first, so that it is never there in part. */
async function removeFolder({ files, partial }: Parts, path: string): Promise<void> {
  const removed = join(partial, `removed-${hashOf([path])}`)
  await files.remove(removed)
  await files.createFolder(partial)
  await files.rename(path, removed)
  await files.syncFolder(dirname(path))
  await files.remove(removed)
}

const DAY_MS = 24 * 3_600_000

async function removeOthers(
  parts: Parts,
  kept: readonly RunOfRows[],
  before: number,
): Promise<void> {
  const { root } = parts
  const folderOf = ({ namespace, name }: RunOfRows) =>
    join(namespaceFolder(namespace), runFolder(name, 1))
  const names = new Set(kept.map(folderOf))
  const isKept = (namespace: string, name: string) =>
    [name, name.replace(/\.\d+$/, '')].some((one) => names.has(join(namespace, one)))
  const found = await listNames(root)
  for (const namespace of found.filter((name) => name.startsWith('namespace='))) {
    const folders = await listRunFolders(root, namespace)
    const old = folders.filter(({ name, day }) => name.startsWith('run=') && day + DAY_MS < before)
    for (const { path, name } of old) if (!isKept(namespace, name)) await removeFolder(parts, path)
  }
}
