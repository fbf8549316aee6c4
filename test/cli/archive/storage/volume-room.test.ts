import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createKeptLogs, type KeptRun } from '../../../../cli/archive/storage/kept-logs.ts'
import { VOLUME_FILES, writeWhole } from '../../../../cli/archive/storage/volume-files.ts'
import { endedObserver } from '../observers.ts'

const MIB = 2 ** 20

/** Returns the bytes of all files below a folder. */
function sizeOf(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

t.test('the logs of a namespace leave room on the volume for those of others', async (t) => {
  const root = t.testdir({})
  const all = 100 * MIB
  const kept = createKeptLogs(root, VOLUME_FILES, async () => {
    return { blocks: all, bavail: Math.max(all - sizeOf(root), 0), bsize: 1 }
  })
  /** Keeps logs of 1 MiB until this fails, and returns their number. */
  const fill = async (namespace: string, name: string): Promise<number> => {
    const run: KeptRun = { key: name, namespace, name, title: name }
    for (let count = 0; ; count += 1) {
      const pod = { started: null, images: [], isDone: false, problem: null }
      const observer = { ...endedObserver(`${count}`, 'vitals'), namespace }
      await kept.writeFacts(run, `${count}`, { observer, ...pod })
      const file = await kept.open(run, `${count}`, 0)
      const error = await file.append('x'.repeat(MIB)).catch((reason: Error) => reason)
      await file.close()
      if (error === undefined) continue
      t.equal(error.message, 'the rows and logs of its namespace use their share of the volume')
      return count
    }
  }
  const stored = join(root, 'namespace=other/date=2026-01-01/run=x')
  mkdirSync(stored, { recursive: true })
  await writeWhole(VOLUME_FILES, join(stored, 'rows.parquet'), ['x'.repeat(20 * MIB)])
  t.equal(await fill('other', 'first'), 60, 'a namespace alone uses 80 % with its rows')
  t.equal(await fill('other', 'second'), 0)
  t.ok((await fill('hpc', 'plain')) >= 15, 'another one has a share of the rest')
  t.ok((await fill('ml', 'plain')) >= 3)
  rmSync(join(root, 'namespace=other'), { recursive: true })
})
