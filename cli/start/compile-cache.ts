import { lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { basename, dirname, isAbsolute, join } from 'node:path'

/**
 * Makes Node keep the compiled modules in the user's cache folder, so that the next start is
 * faster. Node executes the code in this folder, so Node keeps nothing if other users can change
 * the folder. The variables NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE have priority.
 */
export function enableUsersCompileCache(environment: NodeJS.ProcessEnv): void {
  const { NODE_COMPILE_CACHE: chosen, NODE_DISABLE_COMPILE_CACHE: isOff } = environment
  const user = process.getuid?.()
  if (chosen || isOff || user === undefined) return
  const folder = openPrivateFolder(environment, user)
  if (folder !== undefined) enableCompileCache(folder)
}

/**
 * Opens the folder ridealong/compile-cache in the user's cache folder (XDG Base Directory
 * Specification), and creates it if it is missing.
 *
 * @param user the id of the user
 * @returns the real path; undefined if there is no such folder that only this user can change
 */
export function openPrivateFolder(
  { XDG_CACHE_HOME: caches = '', HOME: home = '' }: NodeJS.ProcessEnv,
  user: number,
): string | undefined {
  const base = isAbsolute(caches) ? caches : join(home, '.cache')
  if (!isAbsolute(base)) return undefined
  try {
    let folder = realpathSync(dirname(base))
    for (const name of [basename(base), 'ridealong', 'compile-cache']) {
      if (!isSafe(folder, user)) return undefined
      folder = openFolder(join(folder, name))
    }
    return isSafe(folder, user) && isOnlyUsers(folder, user) ? folder : undefined
  } catch {
    return undefined
  }
}

/** Creates a folder if it is missing. Returns its real path. */
function openFolder(path: string): string {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return realpathSync(path)
}

function isOnlyUsers(folder: string, user: number): boolean {
  const { uid, mode } = lstatSync(folder)
  return uid === user && (mode & 0o777) === 0o700
}

/** Reports whether only the user and root can put something else in the place of a folder. */
function isSafe(folder: string, user: number): boolean {
  const { uid, mode } = lstatSync(folder)
  // In a folder with the sticky bit, such as /tmp, users cannot rename the folders of other users.
  const isKept = (mode & 0o022) === 0 || (mode & 0o1000) !== 0
  const isTrusted = (uid === user || uid === 0) && isKept
  const above = dirname(folder)
  return isTrusted && (above === folder || isSafe(above, user))
}
