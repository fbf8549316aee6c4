import { createReadStream, existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { namespaceFolder } from '../../../src/runs/archive/rows-path.ts'
import { listNames } from './kept-logs.ts'
import { RUN_FILE, type RunFolder, type RunFolders, readRunFolder } from './run-folders.ts'
import { removeWhole, type VolumeFiles, writeWhole } from './volume-files.ts'

/**
 * Opens the folders of runs on a volume. A folder gets and loses its name with one rename.
 *
 * @param root the mount point of the volume
 */
export function openVolumeFolders(root: string, files: VolumeFiles): RunFolders {
  const read = (path: string) => readFile(join(root, path), 'utf8').catch(unlessMissing)
  return {
    list: (namespace) => list(root, namespace),
    listNamespaces: () => listNamespaces(root),
    async readRun(path) {
      if (!existsSync(join(root, path))) return undefined
      return (await read(`${path}/${RUN_FILE}`)) ?? ''
    },
    async put(path, local) {
      const [day, namespace] = [dirname(path), dirname(dirname(path))]
      await files.createFolder(join(root, day))
      await files.rename(local, join(root, path))
      for (const above of [day, namespace, '.']) await files.syncFolder(join(root, above))
    },
    remove: (path) => removeWhole(files, root, join(root, path)),
    // A folder that is not finished has no name, and is removed when the next archive starts.
    removeUnfinished: () => list(root, undefined),
    readFile: read,
    openFile: (path) => createReadStream(join(root, path)),
    async writeFile(path, parts) {
      const file = join(root, path)
      await files.createFolder(dirname(file))
      await writeWhole(files, file, parts)
      await files.syncFolder(dirname(file))
    },
    close: () => {},
  }
}

async function list(root: string, only: string | undefined): Promise<readonly RunFolder[]> {
  const namespaces = only === undefined ? await listNamespaces(root) : [namespaceFolder(only)]
  const found = namespaces.map(async (namespace) => {
    const dates = await listNames(join(root, namespace))
    return (await Promise.all(dates.map((date) => listDay(root, `${namespace}/${date}`)))).flat()
  })
  return (await Promise.all(found)).flat()
}

async function listNamespaces(root: string): Promise<readonly string[]> {
  return (await listNames(root)).filter((name) => name.startsWith('namespace='))
}

async function listDay(root: string, day: string): Promise<readonly RunFolder[]> {
  const names = await listNames(join(root, day))
  return names.flatMap((name) => readRunFolder(`${day}/${name}`) ?? [])
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}
