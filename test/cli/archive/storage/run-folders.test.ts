import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RunFolders } from '../../../../cli/archive/storage/run-folders.ts'
import { VOLUME_FILES } from '../../../../cli/archive/storage/volume-files.ts'
import { openVolumeFolders } from '../../../../cli/archive/storage/volume-folders.ts'

t.test('a volume', async (t) => {
  const root = t.testdir({ 'namespace=hpc': { 'date=unknown': {}, notes: '' }, '.logs': {} })
  await verify(t, openVolumeFolders(root, VOLUME_FILES), join(root, 'made'))
  t.strictSame(readdirSync(join(root, '.partial')), [], 'nothing is left of removed folders')
  t.strictSame(readdirSync(join(root, 'namespace=hpc')), [
    'date=2026-01-02',
    'date=unknown',
    'notes',
  ])
  t.equal(readFileSync(join(root, 'namespace=hpc/notes'), 'utf8'), '')
})

const HPC = 'namespace=hpc/date=2026-01-02/run=lammps-1'
const ML = 'namespace=ml/date=2026-01-03/run=train-2.2'

/**
 * Stores, lists, reads and removes the folders of runs, and writes a small file.
 *
 * @param local the path of a folder that does not exist
 */
async function verify(t: Test, folders: RunFolders, local: string): Promise<void> {
  t.strictSame(await folders.list(), [])
  t.equal(await folders.has(HPC), false)
  for (const path of [HPC, ML]) {
    makeFolder(local)
    await folders.put(path, local)
    rmSync(local, { recursive: true, force: true })
  }
  t.equal(await folders.has(HPC), true)
  t.equal(await folders.readFile(`${HPC}/run.json`), '{"é": 1}')
  t.equal(await folders.readFile(`${HPC}/other.json`), undefined)
  t.equal(await folders.readFile('namespace=none/date=2026-01-02/run=x/run.json'), undefined)
  const day = Date.UTC(2026, 0, 3)
  const train = { path: ML, namespace: 'namespace=ml', day, name: 'run=train-2.2' }
  t.strictSame(await folders.list('ml'), [train])
  t.strictSame(await folders.list('m'), [])
  t.strictSame((await folders.list()).map(({ path }) => path).sort(), [HPC, ML])

  for (const text of ['first', 'second']) await folders.writeFile('index.html', [text, '\n'])
  t.equal(await folders.readFile('index.html'), 'second\n')
  await folders.remove(HPC)
  t.strictSame(await folders.list(), [train])
  t.equal(await folders.has(HPC), false)
  t.equal(await folders.readFile(`${HPC}/run.json`), undefined)
}

function makeFolder(path: string): void {
  mkdirSync(path)
  writeFileSync(join(path, 'vitals.process.parquet'), 'PAR1')
  writeFileSync(join(path, 'run.json'), '{"é": 1}')
}
