import { createReadStream, existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseJson } from '../../../src/core/kubernetes/json.ts'
import { hexHash } from '../../../src/lib/hashed-name.ts'
import type { RunningObserver } from '../../../src/runs/collect/observers.ts'
import { removeWhole, type VolumeFile, type VolumeFiles, writeWhole } from './volume-files.ts'
import { openVolumeRoom, type VolumeRoomOptions } from './volume-room.ts'

/** A run whose rows are not stored yet. */
export interface KeptRun {
  /** Its `runKey`. */
  readonly key: string
  readonly namespace: string
  /** The name of its object Run. */
  readonly name: string
  /** The title of its page. */
  readonly title: string
}

/** The facts about a log that its text does not contain. */
export interface KeptFacts {
  readonly observer: RunningObserver
  /** When the pod started, in milliseconds since 1970; null if it is not known. */
  readonly started: number | null
  /** The images of the containers of the pod's application. */
  readonly images: readonly string[]
  /** Whether the log was read to its end, or will not be read any more. */
  readonly isDone: boolean
  /** Why a part of the log is missing: a sentence; null if none is known to be. */
  readonly problem: string | null
}

/** The text of a log on the volume. */
export interface KeptText {
  readonly bytes: number
  readonly lines: number
}

/**
 * The logs of the runs whose rows are not stored yet, in the folder `.logs` of the volume. All
 * functions throw errors of the system.
 */
export interface KeptLogs {
  /** Writes the facts about a log, and creates the folder of its run. */
  writeFacts(run: KeptRun, id: string, facts: KeptFacts): Promise<void>
  /** Returns the size of the text. A line that was not written to its end does not count. */
  measure(run: KeptRun, id: string): Promise<KeptText>
  /**
   * Opens the text for appending, after its whole lines. Appending fails if the namespace of the
   * run uses its share of the volume.
   */
  open(run: KeptRun, id: string, bytes: number): Promise<VolumeFile>
  /** Returns the path of the text. */
  pathOf(run: KeptRun, id: string): string
  /** Returns the runs on the volume. */
  list(): Promise<readonly KeptRun[]>
  /** Returns the logs of a run, by their ids. */
  read(run: KeptRun): Promise<ReadonlyMap<string, KeptFacts>>
  remove(run: KeptRun): Promise<void>
}

/** Returns the id of a log, which is a valid name of a file. Each start of a container has one. */
export function logId({ uid, container, restarts }: RunningObserver): string {
  return hashOf([uid, container, restarts])
}

/** Returns the hash of facts, as a name of a file that is valid whatever the facts contain. */
export function hashOf(facts: readonly unknown[]): string {
  return hexHash(JSON.stringify(facts))
}

const RUN_FILE = 'run.json'
const FACTS = '.facts.json'

/** @param measure returns the size of the volume */
export function createKeptLogs(
  root: string,
  files: VolumeFiles,
  measure?: VolumeRoomOptions['measure'],
): KeptLogs {
  const above = join(root, '.logs')
  const folderOf = ({ key }: KeptRun) => join(above, hashOf([key]))
  const pathOf = (run: KeptRun, id: string) => join(folderOf(run), `${id}.log`)
  const create = async (folder: string, run: KeptRun) => {
    if ((await readJson(join(folder, RUN_FILE))) !== undefined) return
    await files.createFolder(folder)
    await writeWhole(files, join(folder, RUN_FILE), [JSON.stringify(run)])
  }
  const works = new Map<string, FolderWork>()
  const list = async () => {
    const found = await listNames(above)
    const runs = await Promise.all(found.map((name) => readJson(join(above, name, RUN_FILE))))
    return runs.filter((run) => run !== undefined) as KeptRun[]
  }
  const listLogs = async (namespace: string) =>
    (await list()).filter((run) => run.namespace === namespace).map(folderOf)
  const room = openVolumeRoom({ root, listLogs, ...(measure && { measure }) })
  return {
    pathOf,
    list,
    writeFacts(run, id, facts) {
      const folder = folderOf(run)
      return writeInto(works, folder, {
        create: () => create(folder, run),
        write: async () => {
          await writeWhole(files, join(folder, `${id}${FACTS}`), [JSON.stringify(facts)])
          await files.syncFolder(folder)
        },
      })
    },
    measure: (run, id) => measureText(pathOf(run, id)),
    async open(run, id, bytes) {
      const path = pathOf(run, id)
      const file = await (bytes === 0 ? files.create(path) : files.openAt(path, bytes))
      const append: VolumeFile['append'] = async (content) => {
        await room.take(run.namespace, Buffer.byteLength(content))
        await file.append(content)
      }
      return { ...file, append }
    },
    async read(run) {
      const folder = folderOf(run)
      const names = (await listNames(folder)).filter((name) => name.endsWith(FACTS)).sort()
      const facts = await Promise.all(names.map((name) => readJson(join(folder, name))))
      return new Map(
        names.flatMap((name, index) => {
          const found = facts[index]
          return found === undefined ? [] : [[name.slice(0, -FACTS.length), found as KeptFacts]]
        }),
      )
    },
    remove(run) {
      const folder = folderOf(run)
      return removeAlone(works, folder, async () => {
        // A part of the logs would be stored a second time.
        if (existsSync(folder)) await removeWhole(files, root, folder)
      })
    },
  }
}

/** What goes on in the folder of a run. */
interface FolderWork {
  /** The writes and the removals that have not ended. */
  readonly tasks: Set<Promise<void>>
  /** Settles when the folder exists; undefined while nobody creates it. */
  creating: Promise<void> | undefined
  /** Settles when the last removal has ended. */
  removed: Promise<unknown>
}

type FolderWorks = Map<string, FolderWork>

/**
 * Writes into a folder. The logs of a run can all begin and end at the same moment, and each of
 * them may find that the folder is missing: it is created once for all of them.
 */
function writeInto(
  works: FolderWorks,
  folder: string,
  { create, write }: { create(): Promise<void>; write(): Promise<void> },
): Promise<void> {
  const work = workIn(works, folder)
  const task = work.removed.then(async () => {
    work.creating ??= create().finally(() => {
      work.creating = undefined
    })
    await work.creating
    await write()
  })
  return addTask(works, folder, task)
}

/** Removes a folder after the writes that have begun, and before those that begin later. */
function removeAlone(
  works: FolderWorks,
  folder: string,
  remove: () => Promise<void>,
): Promise<void> {
  const work = workIn(works, folder)
  const task = Promise.allSettled(work.tasks).then(remove)
  work.removed = Promise.allSettled([task])
  return addTask(works, folder, task)
}

function workIn(works: FolderWorks, folder: string): FolderWork {
  const nothing = { tasks: new Set<Promise<void>>(), creating: undefined }
  const work = works.get(folder) ?? { ...nothing, removed: Promise.resolve() }
  works.set(folder, work)
  return work
}

/** Adds a task, which is forgotten when it has ended. */
function addTask(works: FolderWorks, folder: string, task: Promise<void>): Promise<void> {
  const { tasks } = workIn(works, folder)
  tasks.add(task)
  return task.finally(() => {
    tasks.delete(task)
    if (tasks.size === 0) works.delete(folder)
  })
}

/** Returns the names in a folder; none if there is no such folder. */
export async function listNames(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  })
}

/** Reads a file that the archive has written; undefined if it does not exist or is not whole. */
export async function readJson(path: string): Promise<unknown> {
  return parseJson(await readFile(path, 'utf8').catch(() => undefined))
}

const LINE_FEED = 10

async function measureText(path: string): Promise<KeptText> {
  let [bytes, lines, before] = [0, 0, 0]
  try {
    for await (const chunk of createReadStream(path)) {
      const part: Buffer = chunk
      for (let at = part.indexOf(LINE_FEED); at >= 0; at = part.indexOf(LINE_FEED, at + 1)) {
        lines += 1
        bytes = before + at + 1
      }
      before += part.length
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return { bytes, lines }
}
