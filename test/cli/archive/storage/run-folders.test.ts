import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { connectBucket } from '../../../../cli/archive/storage/bucket/bucket-client.ts'
import { openBucketFolders } from '../../../../cli/archive/storage/bucket/bucket-folders.ts'
import { SERVICE_PACE } from '../../../../cli/archive/storage/bucket/service.ts'
import type { RunFolders } from '../../../../cli/archive/storage/run-folders.ts'
import { VOLUME_FILES } from '../../../../cli/archive/storage/volume-files.ts'
import { openVolumeFolders } from '../../../../cli/archive/storage/volume-folders.ts'
import { startBucket } from '../../../stand-ins/bucket.ts'

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

t.test('a bucket', async (t) => {
  const bucket = await startBucket()
  t.teardown(bucket.close)
  const others = ['a&b', 'clusters/hpc2/namespace=hpc/date=2026-01-02/run=x/run.json']
  for (const key of others)
    bucket.objects.set(key, { body: Buffer.from(''), type: '', modified: 0 })
  const folders = openBucketFolders(connectBucket(bucket.settings), 'clusters/hpc/')
  await verify(t, folders, join(t.testdir({}), 'made'))
  const kept = [`clusters/hpc/${ML}/run.json`, `clusters/hpc/${ML}/vitals.process.parquet`]
  const index = 'clusters/hpc/index.html'
  t.strictSame([...bucket.objects.keys()].sort(), [...others, index, ...kept].sort())
  t.equal(bucket.objects.get(index)?.type, 'text/html; charset=utf-8')
})

t.test(
  'files of a run that is not stored to the end are replaced, and later removed',
  async (t) => {
    const bucket = await startBucket()
    t.teardown(bucket.close)
    const local = join(t.testdir({}), 'made')
    makeFolder(local)
    const folders = openBucketFolders(connectBucket(bucket.settings, QUICK), '')
    const refuse = (name: string) => (method: string, key: string) =>
      method === 'PUT' && key.endsWith(name) ? DENIED : undefined
    bucket.objects.set(`${HPC}/old.section.parquet`, OLD)
    bucket.fault = refuse('run.json')
    await t.rejects(folders.put(HPC, local), { message: /lack a right.*\(403 AccessDenied\)/ })
    t.strictSame([...bucket.objects.keys()], [`${HPC}/vitals.process.parquet`])
    t.strictSame(await folders.list(), [])
    bucket.fault = () => undefined
    t.strictSame(await folders.removeUnfinished(Date.now() - 1000), [])
    t.equal(bucket.objects.size, 1, 'a run that is perhaps being stored is left')
    await Promise.all([folders.put(HPC, local), folders.removeUnfinished(Date.now() + 1000)])
    t.equal(bucket.objects.size, 2, 'a run that was stored meanwhile is left')
    t.equal(bucket.calls.at(-1), `GET ${HPC}/run.json`)

    bucket.fault = (method, key) =>
      method === 'DELETE' && key.endsWith('parquet') ? DENIED : undefined
    await t.rejects(folders.remove(HPC), { message: /lack a right/ })
    t.equal(await folders.readRun(HPC), undefined, 'a run that is removed in part is not there')
    bucket.fault = () => undefined
    await folders.removeUnfinished(Date.now() + 1000)
    t.equal(bucket.objects.size, 0)
  },
)

const DENIED = { status: 403, code: 'AccessDenied' }
const OLD = { body: Buffer.from('PAR1'), type: '', modified: 0 }
const QUICK = { ...SERVICE_PACE, repeating: { pauseMs: 1, longestPauseMs: 1 } }

const HPC = 'namespace=hpc/date=2026-01-02/run=lammps-1'
const ML = 'namespace=ml/date=2026-01-03/run=train-2.2'

/**
 * Stores, lists, reads and removes the folders of runs, and writes a small file.
 *
 * @param local the path of a folder that does not exist
 */
async function verify(t: Test, folders: RunFolders, local: string): Promise<void> {
  t.strictSame(await folders.list(), [])
  t.equal(await folders.readRun(HPC), undefined)
  for (const path of [HPC, ML]) {
    makeFolder(local)
    await folders.put(path, local)
    rmSync(local, { recursive: true, force: true })
  }
  t.equal(await folders.readRun(HPC), '{"é": 1}')
  t.equal(await text(folders.openFile(`${HPC}/vitals.process.parquet`)), 'PAR1')
  await t.rejects(text(folders.openFile(`${HPC}/other.json`)), /no such file|NoSuchKey/)
  t.equal(await folders.readFile(`${HPC}/run.json`), '{"é": 1}')
  t.equal(await folders.readFile(`${HPC}/other.json`), undefined)
  t.equal(await folders.readFile('namespace=none/date=2026-01-02/run=x/run.json'), undefined)
  const day = Date.UTC(2026, 0, 3)
  const train = { path: ML, namespace: 'namespace=ml', day, name: 'run=train-2.2' }
  t.strictSame(await folders.list('ml'), [train])
  t.strictSame(await folders.list('m'), [])
  t.strictSame((await folders.list()).map(({ path }) => path).sort(), [HPC, ML])
  t.strictSame([...(await folders.listNamespaces())].sort(), ['namespace=hpc', 'namespace=ml'])

  for (const word of ['first', 'second']) await folders.writeFile('index.html', [word, '\n'])
  t.equal(await folders.readFile('index.html'), 'second\n')
  await folders.remove(HPC)
  t.strictSame(await folders.list(), [train])
  t.equal(await folders.readRun(HPC), undefined)
  t.equal(await folders.readFile(`${HPC}/run.json`), undefined)
}

function makeFolder(path: string): void {
  mkdirSync(path)
  writeFileSync(join(path, 'vitals.process.parquet'), 'PAR1')
  writeFileSync(join(path, 'run.json'), '{"é": 1}')
}
