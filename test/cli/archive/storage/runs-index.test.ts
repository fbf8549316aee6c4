import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { RunFolders } from '../../../../cli/archive/storage/run-folders.ts'
import { createRunsIndex } from '../../../../cli/archive/storage/runs-index.ts'
import { VOLUME_FILES } from '../../../../cli/archive/storage/volume-files.ts'
import { openVolumeFolders } from '../../../../cli/archive/storage/volume-folders.ts'
import { storedRun } from '../../../src/runs/archive/page/stored-runs.ts'

const NOW = Date.UTC(2026, 10, 27)

/** Stores a run, as an archive does. */
function putRun(root: string, namespace: string, index: number, hasPage = true): string {
  const { path, hasPage: _, ...listed } = storedRun(index)
  const file = join(root, `namespace=${namespace}`, path, 'run.json')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify({ rows: { hasPage }, listed }))
  return dirname(file)
}

/** Opens the folders of a volume, and notes which files are read and written. */
function openNoted(root: string) {
  const folders = openVolumeFolders(root, VOLUME_FILES)
  const used: string[] = []
  const noted: RunFolders = {
    ...folders,
    readRun(path) {
      used.push(`read ${path}/run.json`)
      return folders.readRun(path)
    },
    readFile(path) {
      used.push(`read ${path}`)
      return folders.readFile(path)
    },
    writeFile(path, parts) {
      used.push(`write ${path}`)
      return folders.writeFile(path, parts)
    },
  }
  return { folders: noted, takeUsed: () => used.splice(0) }
}

const pathsIn = (root: string, namespace: string): readonly string[] => {
  const html = readFileSync(join(root, `namespace=${namespace}`, 'index.html'), 'utf8')
  const [, data = ''] =
    /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html) ?? []
  const { runs } = JSON.parse(data)
  return runs.map((run: { path: string }) => run.path)
}

t.test('an index lists the runs of its namespace, the last one first', async (t) => {
  const root = t.testdir({})
  for (const index of [0, 2, 1]) putRun(root, 'hpc', index)
  putRun(root, 'ml', 7, false)
  await createRunsIndex(openNoted(root).folders).write(NOW)
  t.strictSame(
    pathsIn(root, 'hpc'),
    [2, 1, 0].map((index) => storedRun(index).path),
  )
  t.strictSame(pathsIn(root, 'ml'), [storedRun(7).path])
  const { runs } = JSON.parse(readFileSync(join(root, 'namespace=ml/runs.json'), 'utf8'))
  t.strictSame(runs, [{ ...storedRun(7), hasPage: false }])
})

t.test('an index is written only if its runs have changed', async (t) => {
  const root = t.testdir({})
  const removed = putRun(root, 'hpc', 0)
  putRun(root, 'ml', 1)
  const { folders, takeUsed } = openNoted(root)
  const first = createRunsIndex(folders)
  await first.write(NOW)
  takeUsed()
  await first.write(NOW)
  t.strictSame(takeUsed(), [])

  const second = createRunsIndex(folders)
  await second.write(NOW)
  t.strictSame(takeUsed(), ['read namespace=hpc/runs.json', 'read namespace=ml/runs.json'])

  putRun(root, 'hpc', 2)
  rmSync(removed, { recursive: true })
  second.note('namespace=hpc')
  await second.write(NOW)
  t.strictSame(takeUsed(), [
    'read namespace=hpc/runs.json',
    `read namespace=hpc/${storedRun(2).path}/run.json`,
    'write namespace=hpc/index.html',
    'write namespace=hpc/runs.json',
  ])
  t.strictSame(pathsIn(root, 'hpc'), [storedRun(2).path])
})

t.test('an archive that was ended before it wrote an index leaves that to the next', async (t) => {
  const root = t.testdir({})
  putRun(root, 'hpc', 0)
  const { folders } = openNoted(root)
  const full = createRunsIndex({
    ...folders,
    writeFile: async () => {
      throw new Error('no space left on device')
    },
  })
  await t.rejects(full.write(NOW), /no space left/)
  putRun(root, 'hpc', 1)
  await createRunsIndex(folders).write(NOW)
  t.equal(pathsIn(root, 'hpc').length, 2)
  writeFileSync(join(root, 'namespace=hpc/runs.json'), '{"runs": [')
  await createRunsIndex(folders).write(NOW)
  t.equal(pathsIn(root, 'hpc').length, 2, 'from data that is not whole')
})

t.test('an index whose last run was removed by an archive that was ended is written', async (t) => {
  const root = t.testdir({ 'namespace=none': {} })
  const removed = putRun(root, 'hpc', 0)
  const { folders } = openNoted(root)
  await createRunsIndex(folders).write(NOW)
  rmSync(removed, { recursive: true })
  await createRunsIndex(folders).write(NOW)
  t.strictSame(pathsIn(root, 'hpc'), [])
  t.notOk(existsSync(join(root, 'namespace=none/index.html')), 'there were never runs')
})

t.test('a failed index is written again', async (t) => {
  const root = t.testdir({})
  putRun(root, 'hpc', 0)
  const { folders } = openNoted(root)
  let isFull = true
  const index = createRunsIndex({
    ...folders,
    writeFile: async (path, parts) => {
      if (isFull) throw new Error('no space left on device')
      return folders.writeFile(path, parts)
    },
  })
  await t.rejects(index.write(NOW), /no space left/)
  isFull = false
  await index.write(NOW)
  t.equal(pathsIn(root, 'hpc').length, 1)
})
