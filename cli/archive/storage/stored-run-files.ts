import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { nameFirst } from '../../../src/core/text/name-first.ts'
import { dayFolder, ROWS_FILE, readRunName } from '../../../src/runs/archive/rows-path.ts'
import { cannotRead, UsageError } from '../../shared/errors.ts'
import type { Host } from '../../shared/host.ts'
import { type InputFile, inputNamed } from '../../shared/run-input.ts'
import { openBucketOfUser } from './bucket/bucket-of-user.ts'
import type { RunFolder, RunFolders } from './run-folders.ts'
import { VOLUME_FILES } from './volume-files.ts'
import { openVolumeFolders } from './volume-folders.ts'

/** Where the runs are that an archive has stored. */
export interface RowsOptions {
  /** The root of the storage: a folder, or s3://BUCKET[/PREFIX]; by default RIDEALONG_ROWS. */
  readonly rows?: string
  /** The namespace of the runs; all namespaces if it is omitted. */
  readonly namespace?: string
}

/** The name of an object Run, or the beginning of this name. */
const RUN = /^run\/([a-z0-9]([-a-z0-9.]*[a-z0-9])?)$/

/** The most runs that a message names. */
const MAX_NAMED = 4

/**
 * Returns the files of an input of a command: those with the rows of a stored run, if it is
 * run/NAME, the logs in a folder, and otherwise the input itself. A file or a folder of this name
 * precedes a run.
 *
 * @throws UsageError if no run, or more than one, has the name, the storage cannot be read, or a
 * folder has no logs
 */
export async function findRunFiles(
  input: string,
  { rows, namespace }: RowsOptions,
  { environment, stdin }: Pick<Host, 'environment' | 'stdin'>,
): Promise<readonly InputFile[]> {
  const [, name] = RUN.exec(input) ?? []
  if (name === undefined || existsSync(input))
    return (await findLogFiles(input)).map((file) => inputNamed(file, stdin))
  const root = mustBeKnown(input, rows ?? environment.RIDEALONG_ROWS)
  const place = await openStorage(root, environment)
  const runs = chooseRuns(await place.list(namespace).catch(cannotRead(root)), name)
  const [folders, ...others] = runs
  const where = namespace === undefined ? '' : ` of namespace ${namespace}`
  if (folders === undefined)
    throw new UsageError(
      `there is no file ${input}, and ${root} has no run${where} whose name begins with ${name}`,
    )
  if (others.length > 0) throw new UsageError(describeSeveral(input, runs))
  const files = folders.map(({ path }) => `${path}/${ROWS_FILE}`).sort()
  return files.map((file) => ({
    name: `${root.replace(/\/+$/, '')}/${file}`,
    open: () => place.openFile(file),
  }))
}

/** @throws UsageError if the folder cannot be read, or the URL of a bucket is not valid */
async function openStorage(root: string, environment: NodeJS.ProcessEnv): Promise<RunFolders> {
  if (/^s3:/i.test(root)) return openBucketOfUser(root, environment)
  await readdir(root).catch(cannotRead(root))
  return openVolumeFolders(root, VOLUME_FILES)
}

function mustBeKnown(input: string, rows: string | undefined): string {
  if (rows === undefined)
    throw new UsageError(
      `there is no file ${input}, and it is not known where the archive stores runs: ` +
        'use --rows with a folder or s3://BUCKET[/PREFIX], or set RIDEALONG_ROWS',
    )
  if (/^(?!s3:)[a-z0-9]+:\/\//i.test(rows))
    throw new UsageError(`${rows} is not a folder and does not begin with s3://`)
  return rows
}

/** Returns the folders of each run with this name, or if there is none, whose names begin so. */
function chooseRuns(stored: readonly RunFolder[], name: string): readonly (readonly RunFolder[])[] {
  const isNamed = (folder: RunFolder) => readRunName(folder.name) === name
  const begins = (folder: RunFolder) => readRunName(folder.name)?.startsWith(name) === true
  const isExact = stored.some(isNamed)
  const found = stored.filter(isExact ? isNamed : begins)
  const runs = Map.groupBy(found, (folder) => `${folder.namespace}/${readRunName(folder.name)}`)
  return [...runs.values()]
}

/** Names the runs that an input may be, the last one first. */
function describeSeveral(input: string, runs: readonly (readonly RunFolder[])[]): string {
  const all = runs.flatMap(([first]) => first ?? []).sort((a, b) => b.day - a.day)
  const names = all.map(({ namespace, day, name }) => {
    return `run/${readRunName(name)} (${namespace}, ${dayFolder(day)})`
  })
  const named = nameFirst(names, MAX_NAMED)
  return `${input} is the name of several runs: ${named}; use a whole name, or -n`
}

/** The files that `collect` or the archive writes into a folder, except hidden files. */
const LOG = /^[^.].*\.(jsonl|log)(\.gz)?$/

/**
 * Returns a file, or the logs in a folder in the order of their names. Standard input (-) and a
 * file that does not exist are returned as they are.
 *
 * @throws UsageError if a folder has no logs, or cannot be read
 */
export async function findLogFiles(path: string): Promise<readonly string[]> {
  const found = await stat(path).catch(() => undefined)
  if (path === '-' || found?.isDirectory() !== true) return [path]
  const names = (await readdir(path).catch(cannotRead(path)))
    .filter((name) => LOG.test(name))
    .sort()
  if (names.length > 0) return names.map((name) => join(path, name))
  throw new UsageError(
    `${path} has no logs: the folder of a run has files such as POD.CONTAINER.jsonl or ` +
      'POD.CONTAINER.log',
  )
}
