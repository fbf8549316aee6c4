import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { asText, fieldsOrNone, listOrNone, parseJson } from '../../../src/core/kubernetes/json.ts'
import { listRun, listUnknown } from '../../../src/runs/archive/list-run.ts'
import type { ListedRun } from '../../../src/runs/archive/listed-run.ts'
import {
  dayFolder,
  isRunFolder,
  namespaceFolder,
  type RunOfRows,
  runFolder,
} from '../../../src/runs/archive/rows-path.ts'
import { limitRows, type StoredRows } from '../../../src/runs/archive/stored-rows.ts'
import type { RunCard } from '../../../src/runs/card/run-card.ts'
import { sourceName } from '../../../src/runs/collect/observers.ts'
import { createKeptLogs, hashOf, type KeptFacts, type KeptLogs, type KeptRun } from './kept-logs.ts'
import type { RowsWriter } from './rows-writer.ts'
import { RUN_FILE, type RunFolder, type RunFolders } from './run-folders.ts'
import { createRunsIndex, type RunsIndex } from './runs-index.ts'
import { partialFolder, type VolumeFiles, writeWhole } from './volume-files.ts'
import type { RunToWrite, WrittenRows } from './write-run.ts'

/**
 * The rows of runs, and the logs of the runs whose rows are not stored yet. All functions throw
 * errors of the system.
 */
export interface RunStorage {
  readonly logs: KeptLogs
  /**
   * Writes the rows and the page of a run from its kept logs. A folder with a final name is always
   * whole. Logs that were stored before are not stored again.
   */
  store(run: RunToStore): Promise<StoredRows>
  /** Removes the rows of runs. */
  remove(runs: readonly RunOfRows[]): Promise<void>
  /**
   * Removes the rows of the runs that started before a time, except the kept ones. Also removes the
   * files of runs that were stored only in part.
   *
   * @param before in milliseconds since 1970
   */
  removeOthers(kept: readonly RunOfRows[], before: number): Promise<void>
  /**
   * Writes the indexes of the namespaces whose runs have changed.
   *
   * @param now the time in milliseconds since 1970
   */
  writeIndexes(now: number): Promise<void>
  close(): Promise<void>
}

/** A run to store. */
export interface RunToStore {
  readonly run: KeptRun
  /** The facts about its logs, by their ids. */
  readonly logs: ReadonlyMap<string, KeptFacts>
  /** The card in its object Run; undefined if there is none. */
  readonly card: RunCard | undefined
}

export interface StorageParts {
  /** The mount point of the volume on which logs are kept and folders are written. */
  readonly root: string
  readonly files: VolumeFiles
  readonly writer: RowsWriter
  /** Where the folders of runs are stored. */
  readonly folders: RunFolders
}

interface Parts extends StorageParts {
  readonly logs: KeptLogs
  readonly index: RunsIndex
  /** The local folders that could not be stored yet, by their paths. */
  readonly prepared: Map<string, Prepared>
}

/** A local folder, and what it was written from. */
interface Prepared {
  readonly rows: StoredRows
  readonly path: string
  readonly logs: ReadonlyMap<string, KeptFacts>
}

/**
 * Opens a storage, and removes the folders that an archive has left unfinished.
 *
 * @throws an error of the system if the volume cannot be written
 */
export async function openRunStorage(opened: StorageParts): Promise<RunStorage> {
  const { root, files, writer, folders } = opened
  const logs = createKeptLogs(root, files)
  const index = createRunsIndex(folders)
  const parts: Parts = { ...opened, logs, index, prepared: new Map() }
  await files.remove(partialFolder(root))
  await files.createFolder(partialFolder(root))
  return {
    logs,
    store: (run) => store(parts, run),
    remove: (runs) => remove(parts, runs),
    removeOthers: (kept, before) => removeOthers(parts, kept, before),
    writeIndexes: index.write,
    async close() {
      folders.close()
      await writer.close()
    },
  }
}

async function store(parts: Parts, { run, logs, card }: RunToStore): Promise<StoredRows> {
  const { root, files, folders, index, prepared } = parts
  const folder = join(partialFolder(root), hashOf([run.key]))
  const { stored, rest } = await findPlace(folders, run, logs)
  const added = rest && (await storeRest(parts, { run, card }, { ...rest, folder }))
  const rows = added?.path === null ? { ...added, ...placeOf(stored) } : (added ?? stored)
  // An earlier attempt may have stored a folder without knowing it.
  if (rows.path !== null) index.note(namespaceFolder(run.namespace))
  prepared.delete(folder)
  await files.remove(folder)
  return rows
}

const placeOf = ({ path, hasPage }: StoredRows) => ({ path, hasPage })

/** Stores a folder with the rows of logs that are not stored yet, if there are any. */
async function storeRest(
  parts: Parts,
  { run, card }: Pick<RunToStore, 'run' | 'card'>,
  writing: Writing,
): Promise<StoredRows> {
  const { facts, folder, path } = writing
  const { files, folders } = parts
  const rows = await prepare(parts, run, writing)
  if (rows.path === null) return rows
  const listed = describeRun(run, card, facts)
  const document = JSON.stringify({ ...run, rows, logs: [...facts.keys()], listed })
  await writeWhole(files, join(folder, RUN_FILE), [document])
  await files.syncFolder(folder)
  await folders.put(path, folder)
  return rows
}

/**
 * Writes the local folder of a run, without its `run.json`. A folder that was written from the same
 * logs before, and could not be stored, is used again.
 */
async function prepare(parts: Parts, run: KeptRun, writing: Writing): Promise<StoredRows> {
  const { files, prepared } = parts
  const { facts: logs, folder, path } = writing
  const known = prepared.get(folder)
  const isSame = known?.path === path && isDeepStrictEqual(known.logs, logs)
  if (isSame && existsSync(folder)) return known.rows
  prepared.delete(folder)
  await files.remove(folder)
  await files.createFolder(folder)
  const rows = await writeRun(parts, run, writing)
  prepared.set(folder, { rows, path, logs })
  return rows
}

function describeRun(
  { name, namespace, title }: KeptRun,
  card: RunCard | undefined,
  logs: ReadonlyMap<string, KeptFacts>,
): ListedRun {
  const images = new Set([...logs.values()].flatMap((facts) => facts.images))
  if (card !== undefined) return listRun({ name, images }, card)
  return listUnknown({ name, images }, title.replace(` in ${namespace}`, ''), startOf(logs))
}

/** Returns when the first pod of the logs started, or now if it is not known. */
function startOf(facts: ReadonlyMap<string, KeptFacts>): number {
  const starts = [...facts.values()].flatMap(({ started }) => started ?? [])
  return starts.length === 0 ? Date.now() : starts.reduce((low, start) => Math.min(low, start))
}

interface Place {
  /** The rows in the last folder that has some of the logs. */
  readonly stored: StoredRows
  /** The logs that are in no folder, and a free name for one; undefined if there are none. */
  readonly rest: Pick<Writing, 'facts' | 'path'> | undefined
}

const NO_ROWS = limitRows({
  path: null,
  hasPage: false,
  missing: [],
  logs: { stored: 0, expected: 0 },
})

/**
 * Finds the logs of a run that are not stored yet, and a place for them. An archive may have been
 * killed, or could not write the Run, after it had stored the other logs, and the run may have got
 * new pods since then.
 */
async function findPlace(
  folders: RunFolders,
  run: KeptRun,
  logs: ReadonlyMap<string, KeptFacts>,
): Promise<Place> {
  const now = Date.now()
  const dayOf = (id: string) => dayFolder(logs.get(id)?.started ?? now)
  const days: RunDay[] = []
  for (const day of new Set([...logs.keys()].map(dayOf)))
    days.push(await readRunDay(folders, run, day))
  const all = days.flatMap(({ stored }) => stored)
  const known = all.filter(({ ids }) => ids.some((id) => logs.has(id)))
  const ids = new Set(known.flatMap((folder) => folder.ids))
  const facts = new Map([...logs].filter(([id]) => !ids.has(id)))
  const [first] = [...facts.keys()].map(dayOf).sort()
  const path = days.find(({ day }) => day === first)?.free
  return {
    stored: known.at(-1)?.rows ?? NO_ROWS,
    rest: path === undefined ? undefined : { facts, path },
  }
}

/** The folders of a run with the date of a day. A folder has the first day of its logs. */
interface RunDay {
  readonly day: string
  /** The ids of the logs in each folder, and its rows. */
  readonly stored: readonly { readonly ids: readonly string[]; readonly rows: StoredRows }[]
  /** A free name for another folder. */
  readonly free: string
}

async function readRunDay(
  folders: RunFolders,
  { namespace, name }: KeptRun,
  day: string,
): Promise<RunDay> {
  const stored: RunDay['stored'][number][] = []
  for (let time = 1; ; time += 1) {
    const free = `${namespaceFolder(namespace)}/${day}/${runFolder(name, time)}`
    const text = await folders.readRun(free)
    if (text === undefined) return { day, stored, free }
    const { logs, rows } = fieldsOrNone(parseJson(text))
    const ids = listOrNone(logs).flatMap((id) => asText(id) ?? [])
    stored.push({ ids, rows: rows as StoredRows })
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
    path,
    hasPage: pageProblem === undefined,
    logs: counts,
    missing: pageProblem === undefined ? missing : [pageProblem, ...missing],
  })
}

async function remove(parts: Parts, runs: readonly RunOfRows[]): Promise<void> {
  for (const namespace of new Set(runs.map((run) => run.namespace))) {
    const names = runs.filter((run) => run.namespace === namespace).map(({ name }) => name)
    for (const folder of await parts.folders.list(namespace))
      if (names.some((name) => isRunFolder(folder.name, name))) await removeFolder(parts, folder)
  }
}

const DAY_MS = 24 * 3_600_000

/** If this fails, a part of the folder may be removed, so the index is compared with it, too. */
async function removeFolder(
  { folders, index }: Parts,
  { path, namespace }: RunFolder,
): Promise<void> {
  await folders.remove(path).finally(() => index.note(namespace))
}

async function removeOthers(
  parts: Parts,
  kept: readonly RunOfRows[],
  before: number,
): Promise<void> {
  const folderOf = ({ namespace, name }: RunOfRows) =>
    join(namespaceFolder(namespace), runFolder(name, 1))
  const names = new Set(kept.map(folderOf))
  const isKept = ({ namespace, name }: RunFolder) =>
    [name, name.replace(/\.\d+$/, '')].some((one) => names.has(join(namespace, one)))
  for (const folder of await parts.folders.removeUnfinished(Date.now() - DAY_MS))
    if (folder.day + DAY_MS < before && !isKept(folder)) await removeFolder(parts, folder)
}
