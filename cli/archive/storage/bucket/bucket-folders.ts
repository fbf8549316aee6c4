import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { namespaceFolder } from '../../../../src/runs/archive/rows-path.ts'
import { RUN_FILE, type RunFolder, type RunFolders, readRunFolder } from '../run-folders.ts'
import type { BucketClient } from './bucket-client.ts'

/**
 * Opens the folders of runs in a bucket. A folder is there when its `run.json` is, which is written
 * last and deleted first. An object is written as a whole.
 *
 * @param prefix the start of all keys; empty, or with `/` at its end
 */
export function openBucketFolders(client: BucketClient, prefix: string): RunFolders {
  const exclusive = createLocks()
  const has = async (path: string) =>
    (await client.get(`${prefix}${path}/${RUN_FILE}`)) !== undefined
  const removeObjects = async (path: string, kept: readonly string[] = []) => {
    const above = `${prefix}${path}/`
    for await (const { key } of client.list(above))
      if (!kept.includes(key.slice(above.length))) await client.delete(key)
  }
  return {
    has,
    list: (namespace) => {
      const above = namespace === undefined ? 'namespace=' : `${namespaceFolder(namespace)}/`
      return listWhole(client, prefix, above)
    },
    put: (path, local) =>
      exclusive(path, async () => {
        const names = (await readdir(local)).filter((name) => name !== RUN_FILE)
        // An archive that was killed may have stored the files of another version.
        await removeObjects(path, names)
        for (const name of [...names, RUN_FILE])
          await client.put(`${prefix}${path}/${name}`, join(local, name))
      }),
    remove: (path) =>
      exclusive(path, async () => {
        await client.delete(`${prefix}${path}/${RUN_FILE}`)
        await removeObjects(path)
      }),
    async removeUnfinished(before) {
      for (const path of await listUnfinished(client, prefix, before))
        await exclusive(path, async () => {
          // It may have been stored since then.
          if (!(await has(path))) await removeObjects(path)
        })
    },
    readFile: (path) => client.get(`${prefix}${path}`),
    writeFile: (path, parts) =>
      client.put(`${prefix}${path}`, Buffer.concat([...parts].map((part) => Buffer.from(part)))),
    close: () => client.close(),
  }
}

async function listWhole(
  client: BucketClient,
  prefix: string,
  above: string,
): Promise<readonly RunFolder[]> {
  const found: RunFolder[] = []
  for await (const { key } of client.list(`${prefix}${above}`)) {
    const { path, file } = splitKey(key.slice(prefix.length))
    const folder = file === RUN_FILE ? readRunFolder(path) : undefined
    if (folder !== undefined) found.push(folder)
  }
  return found
}

function splitKey(key: string): { readonly path: string; readonly file: string } {
  const at = key.lastIndexOf('/')
  return { path: key.slice(0, Math.max(at, 0)), file: key.slice(at + 1) }
}

/** Returns the paths of the folders without `run.json` whose objects are all old. */
async function listUnfinished(
  client: BucketClient,
  prefix: string,
  before: number,
): Promise<readonly string[]> {
  const unfinished = new Set<string>()
  const others = new Set<string>()
  for await (const { key, modified } of client.list(`${prefix}namespace=`)) {
    const { path, file } = splitKey(key.slice(prefix.length))
    const isOld = file !== RUN_FILE && modified < before
    const isRun = readRunFolder(path) !== undefined
    if (isRun) (isOld ? unfinished : others).add(path)
  }
  return [...unfinished].filter((path) => !others.has(path))
}

type Exclusive = (path: string, work: () => Promise<void>) => Promise<void>

/** Returns a function that does one work at a time for each path. */
function createLocks(): Exclusive {
  const last = new Map<string, Promise<void>>()
  return async (path, work) => {
    const task = (last.get(path) ?? Promise.resolve()).then(work)
    const settled = task.catch(() => {})
    last.set(path, settled)
    await task.finally(() => {
      if (last.get(path) === settled) last.delete(path)
    })
  }
}
