import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readlink, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Writable } from 'node:stream'

// Every file that a verb writes for a user is written here. Folders such as /tmp or a scratch file
// system are shared, and another user can create a link under a name that a verb will use. So a
// temporary file is created under its name and never opened through it, and a link is only followed
// if the user, or root, has created it.

/** A file that is being written as NAME.partial. It has its name only when it is complete. */
export interface WholeFile {
  /** The open file, whose text is appended. */
  readonly handle: FileHandle
  /** Gives the file its name, replacing an existing file. Returns the size in bytes. */
  readonly complete: () => Promise<number>
  /** Closes the file and keeps it as NAME.partial. */
  readonly leave: () => Promise<void>
  /** Closes and removes NAME.partial. */
  readonly discard: () => Promise<void>
}

/** Returns the temporary name of a file that is not complete. */
export function partialName(path: string): string {
  return `${path}.partial`
}

/**
 * Opens a file that replaces the file, or the link, of the same name when it is complete. It keeps
 * the mode of the file that it replaces.
 *
 * @param path the final path of the file, whose last part is not followed if it is a link
 * @param partial the temporary path, in the same folder
 * @throws an error of the system
 */
export async function openWholeFile(path: string, partial = partialName(path)): Promise<WholeFile> {
  const handle = await createFile(partial)
  const discard = async () => {
    await handle.close().catch(() => {})
    await rm(partial, { force: true })
  }
  return {
    handle,
    discard,
    leave: () => handle.close(),
    complete: async () => {
      const [opened, named] = [await handle.stat(), await lstat(partial)]
      if (opened.ino !== named.ino || opened.dev !== named.dev)
        throw new Error(`another process has replaced ${partial}`)
      const before = await lstat(path).catch(() => undefined)
      if (before?.isFile() === true) await handle.chmod(before.mode & 0o777)
      await handle.close()
      await rename(partial, path)
      return opened.size
    },
  }
}

/**
 * Creates an empty file for appending. A file or link of the same name is removed and not opened.
 *
 * @throws an error of the system
 */
export async function createFile(path: string): Promise<FileHandle> {
  await rm(path, { force: true })
  const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants
  // The mode is that of fopen; the umask is applied to it.
  return open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666)
}

/**
 * Appends text to a file that exists.
 *
 * @throws an error of the system, also if the path is a link
 */
export async function appendToFile(path: string, text: string): Promise<void> {
  const { O_WRONLY, O_APPEND, O_NOFOLLOW = 0 } = constants
  const handle = await open(path, O_WRONLY | O_APPEND | O_NOFOLLOW)
  await handle.appendFile(text).finally(() => handle.close())
}

/**
 * Returns a stream that writes to an open file. It does not close the file. The stream of Node that
 * does not close its file (autoClose: false) does not report its end either.
 */
export function streamInto(handle: FileHandle): Writable {
  return new Writable({
    write: (chunk, _encoding, done) => {
      handle.appendFile(chunk).then(() => done(), done)
    },
  })
}

/** The place where the text for a path is written. */
export interface Place {
  readonly path: string
  /**
   * Whether the path is a device, a pipe or an open file of this process, such as /dev/stdout. Its
   * text is written to it directly.
   */
  readonly isDirect: boolean
}

/** The most links that are followed, as in Linux (path_resolution(7)). */
const MAX_LINKS = 40

/** The names of open files of this process. */
const OPEN_FILE = /^\/(?:dev\/(?:stdout|stderr|fd\/\d+)|proc\/(?:self|\d+)\/fd\/\d+)$/

/**
 * Finds the place for the text of a path that a user has named. Links are followed, so that the
 * target of a link is replaced and not the link.
 *
 * @throws an error if a link belongs to another user than this one and root
 */
export async function findPlace(path: string): Promise<Place> {
  if (OPEN_FILE.test(path)) return { path, isDirect: true }
  let place = path
  for (let links = 0; links < MAX_LINKS; links += 1) {
    const found = await lstat(place).catch(() => undefined)
    if (found?.isSymbolicLink() !== true) return { path: place, isDirect: isDevice(found) }
    mustBeTrusted(place, found.uid)
    place = resolve(dirname(place), await readlink(place))
    if (OPEN_FILE.test(place)) return { path: place, isDirect: true }
  }
  throw new Error(`${path} has more than ${MAX_LINKS} links`)
}

function isDevice(found: Stats | undefined): boolean {
  return found !== undefined && !found.isFile() && !found.isDirectory()
}

function mustBeTrusted(link: string, owner: number): void {
  if (isOwn(owner) || owner === 0) return
  throw new Error(
    `${link} is a link of another user (uid ${owner}); remove it, or name another file`,
  )
}

/** Reports whether a user ID is that of this process. Windows has no user IDs. */
export function isOwn(uid: number): boolean {
  return process.geteuid === undefined || uid === process.geteuid()
}

/** Opens a device, a pipe or an open file of this process for writing. */
export function openDirectly(path: string): Promise<FileHandle> {
  return open(path, constants.O_WRONLY | constants.O_APPEND)
}

/**
 * Writes a file as a whole: a concurrent reader sees the complete old text or the complete new
 * text.
 *
 * @param path the path that the user has named
 * @param text the text, or its parts, each of which is made when those before it are written. A
 * part that is not text is written byte for byte
 * @throws an error of the system, or an error that says that the path is that of a folder
 */
export async function writeWholeFile(
  path: string,
  text: string | Iterable<string | Uint8Array>,
): Promise<void> {
  if (await isFolder(path)) throw new Error('it is a folder; name a file in it')
  const place = await findPlace(path)
  if (place.isDirect) {
    const handle = await openDirectly(place.path)
    await handle.appendFile(text).finally(() => handle.close())
    return
  }
  const file = await openWholeFile(place.path)
  try {
    await file.handle.appendFile(text)
    await file.complete()
  } catch (error) {
    await file.discard().catch(() => {})
    throw error
  }
}

/** Reports whether a path is that of a folder, or is written as one. */
async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() ?? path.endsWith('/')
}
