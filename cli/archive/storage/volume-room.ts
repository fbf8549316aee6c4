import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { namespaceFolder } from '../../../src/runs/archive/rows-path.ts'
import { fitsShare } from '../shares.ts'

/** The room on the volume, of which each namespace has a share. */
export interface VolumeRoom {
  /**
   * Takes room for more bytes of a namespace.
   *
   * @throws an error if the namespace would use more than its share; an error of the system
   */
  take(namespace: string, bytes: number): Promise<void>
}

export interface VolumeRoomOptions {
  /** The mount point of the volume. */
  readonly root: string
  /** Lists the folders with the kept logs of a namespace. */
  listLogs(namespace: string): Promise<readonly string[]>
  /** Returns the size of the volume in blocks, the free blocks, and the bytes of a block. */
  measure?(root: string): Promise<Readonly<Record<'blocks' | 'bavail' | 'bsize', number>>>
}

/**
 * The maximum use of a namespace is this many times the free bytes. A namespace alone can then use
 * 80 % of the volume, and two can use 44 % each.
 */
const TIMES_FREE = 4

/** The time for which a measured use counts, in milliseconds. */
const KEPT_MS = 60_000

interface Measured {
  /** The time of the measurement, on the clock of `performance`. */
  readonly at: number
  used: number
}

/** The files of a namespace are measured only if the volume is fuller than one may fill it. */
export function openVolumeRoom(options: VolumeRoomOptions): VolumeRoom {
  const { root, listLogs, measure = statfs } = options
  const known = new Map<string, Measured>()
  const measureUse = async (namespace: string): Promise<Measured> => {
    const before = known.get(namespace)
    if (before !== undefined && performance.now() - before.at < KEPT_MS) return before
    const folders = [join(root, namespaceFolder(namespace)), ...(await listLogs(namespace))]
    let used = 0
    for (const folder of folders) used += await sizeOf(folder)
    const measured = { at: performance.now(), used }
    known.set(namespace, measured)
    return measured
  }
  return {
    async take(namespace, bytes) {
      const { blocks, bavail, bsize } = await measure(root)
      const limit = bavail * bsize * TIMES_FREE
      if (fitsShare((blocks - bavail) * bsize, limit, bytes)) return
      const measured = await measureUse(namespace)
      if (!fitsShare(measured.used, limit, bytes))
        throw new Error('the rows and logs of its namespace use their share of the volume')
      measured.used += bytes
    },
  }
}

/** Returns the bytes of the files in a folder; 0 if it does not exist. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  let bytes = 0
  for (const entry of entries)
    if (entry.isFile()) bytes += await sizeOfFile(join(entry.parentPath, entry.name))
  return bytes
}

/** A file can be removed while it is measured. */
function sizeOfFile(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}
