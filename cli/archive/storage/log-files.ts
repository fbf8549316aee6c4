import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { cannotRead, UsageError } from '../../shared/errors.ts'

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
