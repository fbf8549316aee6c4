import manifest from '../../../package.json' with { type: 'json' }
import {
  asFields,
  asObjects,
  asText,
  fieldsOrNone,
  parseJson,
} from '../../../src/core/kubernetes/json.ts'
import { readListedRun } from '../../../src/runs/archive/list-run.ts'
import type { StoredRun } from '../../../src/runs/archive/listed-run.ts'
import { type RunsPageData, renderRunsPage } from '../../../src/runs/archive/runs-page.ts'
import { runPool } from '../../../src/runs/collect/pool.ts'
import { readRunsAssets } from '../../shared/page/page-assets.ts'
import type { RunFolder, RunFolders } from './run-folders.ts'

/** The indexes of stored runs: a page and its data for each namespace, beside the runs. */
export interface RunsIndex {
  /**
   * Notes that a run was stored or removed.
   *
   * @param folder the name of the folder of its namespace
   */
  note(folder: string): void
  /**
   * Writes the indexes of the changed namespaces. The first call writes all that differ from the
   * folders, which an archive before this one may have left.
   *
   * @param now the time in milliseconds since 1970
   * @throws an error of the system. The next call then writes the index again
   */
  write(now: number): Promise<void>
}

/** The page of an index, and its data, from which the next archive goes on. */
const [PAGE, DATA] = ['index.html', 'runs.json']

/** The most runs of an index. */
export const MAX_LISTED = 10_000

/** The most files that are read at once. */
const PARALLEL = 16

const GENERATOR = `ridealong ${manifest.version}`

export function createRunsIndex(folders: RunFolders): RunsIndex {
  const changed = new Set<string>()
  let isCompared = false
  return {
    note: (folder) => changed.add(folder),
    async write(now) {
      if (!isCompared) for (const folder of await folders.listNamespaces()) changed.add(folder)
      isCompared = true
      for (const folder of [...changed]) {
        // A run that is stored meanwhile is noted again.
        changed.delete(folder)
        await writeIndex(folders, folder, now).catch((error: unknown) => {
          changed.add(folder)
          throw error
        })
      }
    },
  }
}

/** @param folder the name of the folder of a namespace */
async function writeIndex(folders: RunFolders, folder: string, now: number): Promise<void> {
  const namespace = folder.slice(folder.indexOf('=') + 1)
  const found = (await folders.list(namespace)).toSorted((a, b) => b.day - a.day)
  const before = await readIndex(folders, `${folder}/${DATA}`)
  const listed = found.slice(0, MAX_LISTED)
  const runs = await readRuns(folders, listed, before.runs)
  const isSame = runs.length === before.runs.size && runs.every(({ path }) => before.runs.has(path))
  if (isSame && before.generator === GENERATOR) return
  // A namespace without runs gets no index, and keeps one.
  const pagePath = `${folder}/${PAGE}`
  if (runs.length === 0 && (await folders.readFile(pagePath)) === undefined) return
  const sorted = runs.toSorted(compareRuns)
  const omitted = found.length - listed.length
  const page = await buildRunsPage({ namespace, runs: sorted, omitted, written: now / 1000 })
  // The data is written last: if it is there, the page is, too.
  await folders.writeFile(pagePath, page)
  await folders.writeFile(`${folder}/${DATA}`, [
    JSON.stringify({ generator: GENERATOR, runs: sorted }),
  ])
}

/** The run that started last is the first one. */
function compareRuns(a: StoredRun, b: StoredRun): number {
  return (b.started ?? 0) - (a.started ?? 0) || (a.path < b.path ? -1 : 1)
}

interface WrittenIndex {
  /** The program that wrote the index; undefined if there is no index. */
  readonly generator: string | undefined
  /** The runs by the paths of their folders. */
  readonly runs: ReadonlyMap<string, StoredRun>
}

async function readIndex(folders: RunFolders, path: string): Promise<WrittenIndex> {
  const { generator, runs } = fieldsOrNone(parseJson(await folders.readFile(path)))
  const stored = asObjects(runs).flatMap((fields) => {
    const [listed, folder] = [readListedRun(fields), asText(fields.path)]
    if (listed === undefined || folder === undefined) return []
    return [{ ...listed, path: folder, hasPage: fields.hasPage === true }]
  })
  return { generator: asText(generator), runs: new Map(stored.map((run) => [run.path, run])) }
}

/** Returns the runs in these folders, of which only new ones are read: a folder never changes. */
async function readRuns(
  folders: RunFolders,
  found: readonly RunFolder[],
  known: ReadonlyMap<string, StoredRun>,
): Promise<readonly StoredRun[]> {
  const runs: StoredRun[] = []
  await runPool(found, {
    parallel: PARALLEL,
    isOrdered: false,
    signal: new AbortController().signal,
    work: async (folder) => {
      const path = folder.path.slice(folder.namespace.length + 1)
      return known.get(path) ?? readRun(folders, folder.path, path)
    },
    done: async (run) => {
      if (run !== undefined) runs.push(run)
    },
  })
  return runs
}

/** Reads what the index says about a run; undefined if its folder was removed meanwhile. */
async function readRun(
  folders: RunFolders,
  folder: string,
  path: string,
): Promise<StoredRun | undefined> {
  const { listed, rows } = fieldsOrNone(parseJson(await folders.readRun(folder)))
  const run = readListedRun(fieldsOrNone(listed))
  return run && { ...run, path, hasPage: asFields(rows)?.hasPage === true }
}

/** Builds the page with the runs of a namespace, in parts. */
export async function buildRunsPage(data: RunsPageData): Promise<Iterable<string>> {
  const [style, script] = await readRunsAssets()
  const generator = `Made by ridealong ${manifest.version}. Plots by uPlot (MIT).`
  return renderRunsPage({ style, script, data, generator })
}
