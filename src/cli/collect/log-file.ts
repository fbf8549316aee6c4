import { open, rename, rm } from 'node:fs/promises'
import { cannotContinue } from './write-failure.ts'

/** A file that is being written as NAME.partial. It has its name only when it is complete. */
export interface LogFile {
  /** Begins the file again: drops all text that was written. */
  readonly restart: () => Promise<void>
  readonly write: (text: string) => Promise<void>
  /** Gives the file its name, replacing an existing file. Returns the size in bytes. */
  readonly complete: () => Promise<number>
  /** Closes the file and keeps it as NAME.partial. */
  readonly leave: () => Promise<void>
  /** Closes and removes NAME.partial. */
  readonly discard: () => Promise<void>
}

/** The number of characters that are collected before they are written. */
const CHUNK = 65_536

/**
 * Opens a file for the text of a log. Only the last few lines are in memory. All functions throw a
 * UsageError with the path if the file cannot be written.
 *
 * @param path the final path of the file
 * @param header the text at the beginning of the file
 */
export async function openLogFile(path: string, header: string): Promise<LogFile> {
  const partial = partialName(path)
  const fail = cannotContinue(path)
  // An earlier file is removed and not opened, because it may be a link.
  await rm(partial, { force: true }).catch(fail)
  // The text after a truncation is appended to the beginning.
  const handle = await open(partial, 'ax').catch(fail)
  let waiting = header
  const flush = async () => {
    const text = waiting
    waiting = ''
    if (text !== '') await handle.appendFile(text)
  }
  const close = async () => {
    try {
      await flush()
    } finally {
      await handle.close()
    }
  }
  return {
    restart: async () => {
      waiting = header
      await handle.truncate(0).catch(fail)
    },
    write: async (text) => {
      waiting += text
      if (waiting.length >= CHUNK) await flush().catch(fail)
    },
    complete: async () => {
      try {
        await flush()
        const { size } = await handle.stat()
        await handle.close()
        await rename(partial, path)
        return size
      } catch (error) {
        return fail(error)
      }
    },
    leave: () => close().catch(fail),
    discard: async () => {
      waiting = ''
      await handle.close().catch(() => {})
      await rm(partial, { force: true }).catch(fail)
    },
  }
}

/** Returns the temporary name of a file that is not complete. */
export function partialName(path: string): string {
  return `${path}.partial`
}
