import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import {
  appendToFile,
  createFile,
  findPlace,
  openDirectly,
  openWholeFile,
  streamInto,
} from '../../lib/whole-file.ts'
import { cannotContinue, cannotWrite } from '../../lib/write-error.ts'
import type { LogFormat } from '../log/transcribe.ts'
import { lockFolder } from './folder-lock.ts'
import { JOURNAL } from './journal.ts'

/** A destination of logs whose text is written while they are followed, or of whole logs. */
export interface Destination {
  /** Whether each log has its own file. */
  readonly isFolder: boolean
  readonly write: (name: string, text: string) => Promise<void>
  /**
   * Closes the destination. A file has a temporary name before this call. The call renames the file
   * if `isGood` is true and all text is written, and otherwise removes the file.
   *
   * @throws WriteError if `isGood` is true and the text could not be written
   */
  readonly close: (isGood: boolean) => Promise<void>
}

/** A stream that is open already, such as standard output. */
export interface OpenStream {
  /** The name of the stream in messages. */
  readonly name: string
  readonly stream: Writable
  /** Returns the text to write, for example with escaped control characters for a terminal. */
  readonly prepare: (text: string) => string
}

/** Where collected text is written: the path of a file or a folder, or a stream. */
export type Target = string | OpenStream

/** Returns the name of a target in messages. */
export function targetName(target: Target): string {
  return typeof target === 'string' ? target : target.name
}

/** The destination of output without text. */
const NOWHERE: Destination = { isFolder: true, write: async () => {}, close: async () => {} }

/**
 * Opens a stream, a file, or a folder. A path is a folder if it ends in / or is the path of an
 * existing folder.
 *
 * @param header the text at the beginning of each file, which may be empty
 * @throws WriteError with the path that cannot be written
 */
export async function openDestination(
  target: Target,
  form: LogFormat,
  header: string,
): Promise<Destination> {
  if (form === 'artifacts') return NOWHERE
  if (typeof target !== 'string') return toStream(target, header, STAYS_OPEN)
  const opening = isFolderPath(target) ? toFolder(target, form, header) : toFile(target, header)
  return opening.catch(cannotWrite(target))
}

/** Reports whether a path ends in / or is the path of an existing folder. */
export function isFolderPath(path: string): boolean {
  return path.endsWith('/') || (existsSync(path) && statSync(path).isDirectory())
}

async function toFile(path: string, header: string): Promise<Destination> {
  const place = await findPlace(path)
  if (place.isDirect) {
    const handle = await openDirectly(place.path)
    const stream = streamInto(handle)
    const close = () => handle.close()
    const ending = { end: () => endStream(stream), close }
    return toStream({ name: path, stream, prepare: asIs }, header, ending)
  }
  const file = await openWholeFile(place.path)
  const stream = streamInto(file.handle)
  const close = async (isGood: boolean) => {
    if (isGood) await file.complete().catch(cannotContinue(path))
    else await file.discard()
  }
  const ending = { end: () => endStream(stream), close }
  return toStream({ name: path, stream, prepare: asIs }, header, ending)
}

const asIs = (text: string) => text

/** Ends a stream, and waits until its text is written or an error has occurred. */
function endStream(stream: Writable): Promise<void> {
  return finished(stream.end()).catch(() => {})
}

/** The two steps of the end of a stream and its file. */
interface Ending {
  /** Waits until all text is written or the stream has reported an error. */
  readonly end: () => Promise<void>
  readonly close: (isGood: boolean) => Promise<void>
}

/** The process ends if it cannot write to an open stream (cli/main.ts), and never closes it. */
const STAYS_OPEN: Ending = { end: async () => {}, close: async () => {} }

/** @param firstText the text before the first log; written at the end if there is no log */
function toStream(
  { name, stream, prepare }: OpenStream,
  firstText: string,
  { end, close }: Ending,
): Destination {
  let header = firstText
  let failure: Error | undefined
  // A full disk or a closed pipe is reported only by an event, which can follow the last write.
  stream.on('error', (error) => {
    failure = error
  })
  const throwFailure = () => {
    if (failure !== undefined) cannotContinue(name)(failure)
  }
  const passOn = async (text: string): Promise<void> => {
    const whole = header + text
    header = ''
    const isFull = whole !== '' && failure === undefined && !stream.write(prepare(whole))
    if (isFull) await once(stream, 'drain').catch(() => {})
  }
  return {
    isFolder: false,
    write: async (_name, text) => {
      await passOn(text)
      throwFailure()
    },
    close: async (isGood) => {
      if (isGood) await passOn('')
      await end()
      await close(isGood && failure === undefined)
      if (isGood) throwFailure()
    },
  }
}

/** The formats with text. */
export type TextFormat = Exclude<LogFormat, 'artifacts'>

/** The extensions of files. */
const SUFFIX: Readonly<Record<TextFormat, string>> = {
  jsonl: 'jsonl',
  csv: 'csv',
  logs: 'log',
}

/** Returns the path of a log's file in a folder. */
export function fileIn(folder: string, name: string, form: TextFormat): string {
  return join(folder, `${name}.${SUFFIX[form]}`)
}

/**
 * Writes into a folder. The files of earlier runs are replaced, so the journal of these runs is
 * removed.
 */
async function toFolder(path: string, form: TextFormat, header: string): Promise<Destination> {
  await mkdir(path, { recursive: true })
  const unlock = await lockFolder(path)
  await rm(join(path, JOURNAL), { force: true })
  const begun = new Set<string>()
  return {
    isFolder: true,
    write: async (name, text) => {
      if (text === '') return
      const file = fileIn(path, name, form)
      const isFirst = !begun.has(name)
      begun.add(name)
      const writing = isFirst ? beginFile(file, header + text) : appendToFile(file, text)
      await writing.catch(cannotContinue(file))
    },
    close: unlock,
  }
}

async function beginFile(path: string, text: string): Promise<void> {
  const handle = await createFile(path)
  await handle.appendFile(text).finally(() => handle.close())
}
