import { open, readFile, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { WriteError } from '../../lib/write-error.ts'

/** The name of the file that exists while `collect` writes to a folder. */
export const LOCK = '.ridealong-collect.lock'

/**
 * Locks a folder, so that only one `collect` writes to it at a time. The lock of a process that was
 * killed is replaced.
 *
 * @returns the function that unlocks the folder
 * @throws WriteError if another process has locked the folder; an error of the system if the folder
 * cannot be written
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, LOCK)
  const identity = `${process.pid} ${hostname()}`
  if (!(await create(path, identity))) {
    const holder = await readFile(path, 'utf8').catch(() => '')
    if (isAlive(holder)) throw busy(folder, path, holder)
    await rm(path, { force: true })
    if (!(await create(path, identity))) throw busy(folder, path, '')
  }
  return () => rm(path, { force: true })
}

async function create(path: string, text: string): Promise<boolean> {
  try {
    const handle = await open(path, 'wx')
    await handle.writeFile(text).finally(() => handle.close())
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Reports whether the process that created a lock may still run. The lock is empty for a moment
 * after its creation. In a container, an earlier process may have had the ID of this process.
 */
function isAlive(holder: string): boolean {
  const [, id, host] = /^(\d+) (.+)$/.exec(holder) ?? []
  if (id === undefined || host !== hostname()) return true
  if (Number(id) === process.pid) return false
  try {
    process.kill(Number(id), 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function busy(folder: string, path: string, holder: string): WriteError {
  const [id, host] = holder.split(' ')
  const who = host === undefined ? '' : ` (process ${id} on ${host})`
  return new WriteError(
    `another collect${who} writes to ${folder}; wait until it has ended, or remove ${path} if it ` +
      'does not run any more',
  )
}
