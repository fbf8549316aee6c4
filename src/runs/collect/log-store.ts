import { createReadStream, mkdtempSync, rmSync } from 'node:fs'
import { lstat, mkdir, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { wholeLines } from '../../lib/split-lines.ts'
import { findPlace, isOwn, partialName } from '../../lib/whole-file.ts'
import { cannotWrite, WriteError } from '../../lib/write-error.ts'
import type { LogFormat } from '../log/transcribe.ts'
import {
  fileIn,
  isFolderPath,
  openDestination,
  type Target,
  type TextFormat,
  targetName,
} from './destination.ts'
import { lockFolder } from './folder-lock.ts'
import type { Gathered } from './gather.ts'
import { type CollectedLog, JOURNAL, openJournal } from './journal.ts'
import { type LogFile, openLogFile } from './log-file.ts'
import { logName } from './log-identity.ts'

/** The pod, the container and the attempt of a log, which identify its file. */
export type LogPlace = Pick<CollectedLog, 'pod' | 'container' | 'attempt'>

/** A log whose text is in a file. */
export type StoredLog = LogPlace & Pick<Gathered, 'text'>

/**
 * The files of collected logs. Each log has its own file in a folder, even if the result is a
 * single file or standard output.
 */
export interface LogStore {
  /** The logs that earlier runs have collected into the same folder. */
  readonly before: readonly CollectedLog[]
  /** Whether logs must be passed in their order. */
  readonly isOrdered: boolean
  /** Returns the folder in which logs are kept for the next run; undefined if none are kept. */
  readonly kept: () => string | undefined
  /** Opens the file of a log for writing. */
  readonly open: (log: LogPlace) => Promise<LogFile>
  /** Reports whether the file of a log from an earlier run exists and has the recorded size. */
  readonly has: (log: CollectedLog) => Promise<boolean>
  /** Records that the file of a log is complete, and that the log will not grow any more. */
  readonly record: (log: CollectedLog) => Promise<void>
  /** Passes on the text of a log, if the result is a stream. */
  readonly pass: (log: StoredLog) => Promise<void>
  /**
   * Writes the result, if it is a single file.
   *
   * @param logs the logs of the result in their order
   * @param isComplete whether no log is missing, so that the files of the logs are not kept
   */
  readonly finish: (logs: readonly StoredLog[], isComplete: boolean) => Promise<void>
  /** Releases the folder, and removes temporary files. */
  readonly close: () => Promise<void>
}

/**
 * Opens the store for the logs of a workload. A path is a folder if it ends in / or is the path of
 * an existing folder.
 *
 * @param header the text at the beginning of each file, which may be empty
 * @throws WriteError with the path that cannot be written
 */
export async function openLogStore(
  target: Target,
  form: LogFormat,
  header: string,
): Promise<LogStore> {
  if (form === 'artifacts') return NO_TEXT
  const opening = async () => {
    if (typeof target !== 'string') return toStream(target, form, header)
    if (isFolderPath(target)) return toFolder(target, form, header)
    const place = await findPlace(target)
    return place.isDirect ? toStream(target, form, header) : toFile(place.path, form, header)
  }
  return opening().catch(cannotWrite(targetName(target)))
}

const NOTHING = async () => {}

/** The file of a log in a format without text. */
const NO_FILE: LogFile = {
  restart: NOTHING,
  write: NOTHING,
  complete: async () => 0,
  leave: NOTHING,
  discard: NOTHING,
}

/** The store of a format without text. */
const NO_TEXT: LogStore = {
  before: [],
  isOrdered: false,
  kept: () => undefined,
  open: async () => NO_FILE,
  has: async () => false,
  record: NOTHING,
  pass: NOTHING,
  finish: NOTHING,
  close: NOTHING,
}

async function toFolder(path: string, form: TextFormat, header: string): Promise<LogStore> {
  await mkdir(path, { recursive: true })
  return openFolder(path, form, header)
}

/** Opens a locked folder with a journal. */
async function openFolder(folder: string, form: TextFormat, header: string): Promise<LogStore> {
  const unlock = await lockFolder(folder)
  const journal = await openJournal(folder).catch(async (error: unknown) => {
    await unlock()
    throw error
  })
  const pathOf = (log: LogPlace) => fileIn(folder, logName(log), form)
  let isEmpty = journal.before.length === 0
  return {
    before: journal.before,
    isOrdered: false,
    kept: () => (isEmpty ? undefined : folder),
    open: (log) => openLogFile(pathOf(log), header),
    has: async (log) => {
      const found = await lstat(pathOf(log)).catch(() => undefined)
      return found?.isFile() === true && found.size === log.bytes
    },
    record: async (log) => {
      await journal.add(log)
      isEmpty = false
    },
    pass: NOTHING,
    finish: NOTHING,
    close: async () => {
      await journal.close()
      await unlock()
    },
  }
}

/**
 * Collects into the folder FILE.parts. The file is made from the files in this folder, which is
 * removed if no log is missing.
 */
async function toFile(path: string, form: TextFormat, header: string): Promise<LogStore> {
  const folder = `${path}.parts`
  await makeOwnFolder(folder)
  const parts = await openFolder(folder, form, '')
  const pathOf = (log: LogPlace) => fileIn(folder, logName(log), form)
  let known: readonly LogPlace[] = []
  let isRemoved = false
  return {
    ...parts,
    finish: async (logs, isComplete) => {
      const file = await openLogFile(path, header)
      try {
        for (const log of logs) await appendLog(log, pathOf(log), file.write)
      } catch (error) {
        await file.discard().catch(() => {})
        throw error
      }
      await file.complete()
      known = logs
      isRemoved = isComplete
    },
    close: async () => {
      await parts.close()
      if (!isRemoved && parts.kept() !== undefined) return
      const paths = [...known, ...parts.before].map(pathOf)
      for (const one of new Set(paths)) await removeLog(one)
      await rm(join(folder, JOURNAL), { force: true })
      // A folder that contains other files is not removed.
      await rmdir(folder).catch(() => {})
    },
  }
}

/**
 * Creates a folder that only this user may change, or uses the folder of an earlier run.
 *
 * @throws WriteError if the folder belongs to another user, who could choose the files that are
 * removed from it
 */
async function makeOwnFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const found = await lstat(folder)
    if (found.isDirectory() && isOwn(found.uid)) return
    const what = found.isDirectory() ? `belongs to another user (uid ${found.uid})` : 'is no folder'
    throw new WriteError(`${folder} ${what}; remove it, or name another file with --to`)
  }
}

/**
 * Collects into a temporary folder, and writes each log to a stream as soon as it and all previous
 * logs have been read. A log that is read again after a lost connection is therefore written once.
 *
 * @param target an open stream, or the path of a device or a pipe
 */
async function toStream(target: Target, form: TextFormat, header: string): Promise<LogStore> {
  const output = await openDestination(target, form, header)
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-collect-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  // If the reader of the output is gone, the process ends at once.
  process.once('exit', remove)
  const pathOf = (log: LogPlace) => fileIn(folder, logName(log), form)
  let isGood = false
  return {
    ...NO_TEXT,
    isOrdered: true,
    open: (log) => openLogFile(pathOf(log), ''),
    pass: async (log) => {
      await appendLog(log, pathOf(log), (text) => output.write(logName(log), text))
      await removeLog(pathOf(log))
    },
    finish: async () => {
      isGood = true
    },
    close: async () => {
      await output.close(isGood)
      remove()
      process.off('exit', remove)
    },
  }
}

/** Writes the text of a log. A part of a log is in a file with a temporary name. */
async function appendLog(
  { text }: StoredLog,
  path: string,
  write: (text: string) => Promise<void>,
): Promise<void> {
  if (text === 'none') return
  const from = text === 'part' ? partialName(path) : path
  for await (const lines of wholeLines(createReadStream(from, 'utf8'))) await write(lines)
}

async function removeLog(path: string): Promise<void> {
  await rm(path, { force: true })
  await rm(partialName(path), { force: true })
}
