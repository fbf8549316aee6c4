import { openWholeFile } from '../../lib/whole-file.ts'
import { cannotContinue } from '../../lib/write-error.ts'

/** A file that is being written as NAME.partial. It has its name only when it is complete. */
export interface LogFile {
  /** Begins the file again: drops all text that was written. */
  readonly restart: () => Promise<void>
  readonly write: (text: string) => Promise<void>
  /**
   * Gives the file its name, replacing an existing file. Returns the size in bytes. A file that
   * cannot be completed is removed.
   */
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
 * WriteError with the path if the file cannot be written.
 *
 * @param path the final path of the file
 * @param header the text at the beginning of the file
 */
export async function openLogFile(path: string, header: string): Promise<LogFile> {
  const fail = cannotContinue(path)
  const file = await openWholeFile(path).catch(fail)
  const { handle } = file
  let waiting = header
  const flush = async () => {
    const text = waiting
    waiting = ''
    if (text !== '') await handle.appendFile(text)
  }
  return {
    // The file is opened for appending, so the text after a truncation is at its beginning.
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
        return await file.complete()
      } catch (error) {
        await file.discard().catch(() => {})
        return fail(error)
      }
    },
    leave: () => flush().finally(file.leave).catch(fail),
    discard: async () => {
      waiting = ''
      await file.discard().catch(fail)
    },
  }
}
