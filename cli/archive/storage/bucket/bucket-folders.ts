import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
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
  const readRun = (path: string) => client.get(`${prefix}${path}/${RUN_FILE}`)
  const removeObjects = async (path: string, kept: readonly string[] = []) => {
    const above = `${prefix}${path}/`
    for await (const { key } of client.list(above))
      if (!kept.includes(key.slice(above.length))) await client.delete(key)
  }
  const survey = (above: string) => listRuns(client, prefix, above)
  return {
    readRun,
    async list(namespace) {
      const above = namespace === undefined ? 'namespace=' : `${namespaceFolder(namespace)}/`
      return (await survey(above)).whole
    },
    listNamespaces: () => listNamespaces(client, prefix),
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
      const { whole, others } = await survey('namespace=')
      for (const [path, changed] of others)
        if (changed < before)
          await exclusive(path, async () => {
            // It may have been stored since then.
            if ((await readRun(path)) === undefined) await removeObjects(path)
          })
      return whole
    },
    readFile: (path) => client.get(`${prefix}${path}`),
    openFile: (path) => Readable.from(client.read(`${prefix}${path}`)),
    writeFile: (path, parts) =>
      client.put(`${prefix}${path}`, Buffer.concat([...parts].map((part) => Buffer.from(part)))),
    close: () => client.close(),
  }
}

async function listNamespaces(client: BucketClient, prefix: string): Promise<readonly string[]> {
  const found: string[] = []
  for await (const start of client.listFolders(`${prefix}namespace=`))
    found.push(start.slice(prefix.length, -1))
  return found
}

interface ListedRuns {
  readonly whole: readonly RunFolder[]
  /** When the other folders were changed, in milliseconds since 1970, by their paths. */
  readonly others: ReadonlyMap<string, number>
}

/** Lists the folders of runs whose paths have a beginning. */
async function listRuns(client: BucketClient, prefix: string, above: string): Promise<ListedRuns> {
  const whole: RunFolder[] = []
  const others = new Map<string, number>()
  for await (const { key, modified } of client.list(`${prefix}${above}`)) {
    const { path, file } = splitKey(key.slice(prefix.length))
    const folder = readRunFolder(path)
    if (folder === undefined) continue
    if (file === RUN_FILE) whole.push(folder)
    else others.set(path, Math.max(modified, others.get(path) ?? 0))
  }
  for (const { path } of whole) others.delete(path)
  return { whole, others }
}

function splitKey(key: string): { readonly path: string; readonly file: string } {
  const at = key.lastIndexOf('/')
  return { path: key.slice(0, Math.max(at, 0)), file: key.slice(at + 1) }
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
