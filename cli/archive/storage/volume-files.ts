import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hexHash } from '../../../src/lib/hashed-name.ts'
import { createFile } from '../../../src/lib/whole-file.ts'

/** A file of the volume that is being written. */
export interface VolumeFile {
  append(content: Uint8Array | string): Promise<void>
  /** Waits until the volume has the content. */
  sync(): Promise<void>
  close(): Promise<void>
}

/**
 * All operations that change the volume. A test ends them at each step. All functions throw errors
 * of the system.
 */
export interface VolumeFiles {
  /** Creates a folder, and those above it; does nothing if it exists. */
  createFolder(path: string): Promise<void>
  /** Creates an empty file, in place of a file of the same name. */
  create(path: string): Promise<VolumeFile>
  /** Opens a file for appending, which is cut to a size in bytes first. */
  openAt(path: string, size: number): Promise<VolumeFile>
  rename(from: string, to: string): Promise<void>
  /** Removes a file, or a folder with its content; does nothing if there is none. */
  remove(path: string): Promise<void>
  /** Waits until the volume has the names in a folder. */
  syncFolder(path: string): Promise<void>
}

export const VOLUME_FILES: VolumeFiles = {
  async createFolder(path) {
    await mkdir(path, { recursive: true })
  },
  async create(path) {
    return asVolumeFile(await createFile(path))
  },
  async openAt(path, size) {
    const handle = await open(path, 'r+')
    await handle.truncate(size)
    await handle.close()
    return asVolumeFile(await open(path, 'a'))
  },
  rename,
  remove: (path) => rm(path, { recursive: true, force: true }),
  async syncFolder(path) {
    const handle = await open(path, 'r')
    await handle.sync().finally(() => handle.close())
  },
}

function asVolumeFile(handle: Awaited<ReturnType<typeof open>>): VolumeFile {
  return {
    append: (content) => handle.appendFile(content),
    sync: () => handle.sync(),
    close: () => handle.close(),
  }
}

/** Writes a file under a temporary name, and gives it its name when the volume has it. */
export async function writeWhole(
  files: VolumeFiles,
  path: string,
  parts: Iterable<Uint8Array | string>,
): Promise<void> {
  const partial = `${path}.partial`
  const file = await files.create(partial)
  try {
    for (const part of parts) await file.append(part)
    await file.sync()
  } finally {
    await file.close()
  }
  await files.rename(partial, path)
}

/** Returns the folder of the folders that are being written or removed: they have no final name. */
export function partialFolder(root: string): string {
  return join(root, '.partial')
}

/** Removes a folder. If the archive is killed meanwhile, the folder is whole or not there. */
export async function removeWhole(files: VolumeFiles, root: string, folder: string): Promise<void> {
  const removed = join(partialFolder(root), `removed-${hexHash(folder)}`)
  await files.remove(removed)
  await files.createFolder(partialFolder(root))
  await files.rename(folder, removed)
  await files.syncFolder(dirname(folder))
  await files.remove(removed)
}
