import type { Readable } from 'node:stream'
import { readDay } from '../../../src/runs/archive/rows-path.ts'

/** The file that each folder of a run has, and that says which logs its rows are from. */
export const RUN_FILE = 'run.json'

/** A folder with the rows of a run. */
export interface RunFolder {
  /** Its path below the root of the storage, with `/` between its parts. */
  readonly path: string
  /** The name of the folder of its namespace. */
  readonly namespace: string
  /** The day on which the run started, in milliseconds since 1970. */
  readonly day: number
  /** The name of the folder itself. */
  readonly name: string
}

/**
 * The place where the folders of runs are stored. A folder is there as a whole or not at all. All
 * paths are below the root of the storage, with `/` between their parts. All functions throw errors
 * whose message says why the place cannot be read or written.
 */
export interface RunFolders {
  /** Lists the folders of all runs, or of those of one namespace. */
  list(namespace?: string): Promise<readonly RunFolder[]>
  /** Lists the names of the folders of namespaces, also of those that have no run any more. */
  listNamespaces(): Promise<readonly string[]>
  /** Reads the `run.json` of a folder, which may be empty; undefined if there is no folder. */
  readRun(path: string): Promise<string | undefined>
  /**
   * Stores the files of a local folder, which are whole, in a folder that is not there yet. The
   * local folder is moved or left.
   */
  put(path: string, local: string): Promise<void>
  /** Removes a folder with its files. */
  remove(path: string): Promise<void>
  /**
   * Removes the files of folders that were stored or removed only in part, and lists the folders of
   * all runs.
   *
   * @param before a time after the last change to such a folder, in milliseconds since 1970
   */
  removeUnfinished(before: number): Promise<readonly RunFolder[]>
  /** Reads a small file; undefined if it does not exist. */
  readFile(path: string): Promise<string | undefined>
  /** Opens a file for reading. The stream has the error if it does not exist. */
  openFile(path: string): Readable
  /** Writes a small file as a whole, in place of a file of the same name. */
  writeFile(path: string, parts: Iterable<Uint8Array | string>): Promise<void>
  /** Ends all requests that have no response yet. Later requests fail. */
  close(): void
}

/** Reads the path of the folder of a run; undefined for another path. */
export function readRunFolder(path: string): RunFolder | undefined {
  const [namespace = '', date = '', name = '', ...rest] = path.split('/')
  const day = readDay(date)
  const isRun = namespace.startsWith('namespace=') && name.startsWith('run=') && rest.length === 0
  return day === undefined || !isRun ? undefined : { path, namespace, day, name }
}
