import { hexHash } from '../../lib/hashed-name.ts'

/** The names of Kubernetes objects (RFC 1123 subdomain). Other texts are no part of a path. */
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

/** The most characters of a name in a path: a file name has at most 255 bytes. */
const MAX_LENGTH = 200

/** A run whose rows are stored. */
export interface RunOfRows {
  readonly namespace: string
  /** The name of its object Run. */
  readonly name: string
}

/** Returns the folder of the rows of a namespace, below the root of the storage. */
export function namespaceFolder(namespace: string): string {
  return `namespace=${partOfPath(namespace)}`
}

/** Returns the folder of a day. @param started in milliseconds since 1970 */
export function dayFolder(started: number): string {
  return `date=${new Date(started).toISOString().slice(0, 10)}`
}

/** Returns the day of a folder, in milliseconds since 1970; undefined for another folder. */
export function readDay(folder: string): number | undefined {
  const [, day] = /^date=(\d{4}-\d\d-\d\d)$/.exec(folder) ?? []
  const time = day === undefined ? Number.NaN : Date.parse(day)
  return Number.isNaN(time) ? undefined : time
}

/**
 * Returns the folder of a run. A run that was stored and went on afterwards has another folder for
 * each further time.
 *
 * @param time 1 for the first time
 */
export function runFolder(name: string, time: number): string {
  return `run=${partOfPath(name)}${time === 1 ? '' : `.${time}`}`
}

/** Returns the name in the folder of a run; undefined for another folder. */
export function readRunName(folder: string): string | undefined {
  return /^run=(.+?)(\.\d+)?$/.exec(folder)?.[1]
}

/** Reports whether a folder is that of a run, at any time. */
export function isRunFolder(folder: string, name: string): boolean {
  const first = runFolder(name, 1)
  return (
    folder === first ||
    (folder.startsWith(`${first}.`) && /^\.\d+$/.test(folder.slice(first.length)))
  )
}

/** The file with the page of the report, in the folder of a run. */
export const PAGE_FILE = 'report.html'

/** The file with all rows of a run, as `collect` writes them: JSON Lines, compressed by gzip. */
export const ROWS_FILE = 'rows.jsonl.gz'

/**
 * Returns the URL of the page of a run.
 *
 * @param publicUrl the URL at which users find the storage
 * @param path the folder of the run, below the root of the storage
 */
export function pageUrl(publicUrl: string, path: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/${path}/${PAGE_FILE}`
}

/**
 * Returns a name as a part of a path. The archive does not rely on the names of objects: one that
 * is no valid name, or is too long for a file, is replaced by its hash.
 */
function partOfPath(name: string): string {
  if (NAME.test(name) && name.length <= MAX_LENGTH) return name
  const hash = hexHash(name)
  return NAME.test(name) ? `${name.slice(0, MAX_LENGTH - hash.length - 1)}-${hash}` : hash
}
