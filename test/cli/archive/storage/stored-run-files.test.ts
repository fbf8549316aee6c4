import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import {
  findLogFiles,
  findRunFiles,
  type RowsOptions,
} from '../../../../cli/archive/storage/stored-run-files.ts'
import { compare } from '../../../../cli/compare/compare.ts'
import { report } from '../../../../cli/report/report.ts'
import { describeObserver } from '../../../../src/runs/collect/gather.ts'
import { transcribe } from '../../../../src/runs/log/transcribe.ts'
import { BUILT_IN_ROWS } from '../../../src/runs/log/built-in.ts'
import { ownFolder } from '../../../tiers/own-folder.ts'
import { run } from '../../command.ts'
import { createHost, createSession } from '../../host.ts'
import { endedObserver, recordedLog } from '../observers.ts'

const OBSERVERS = ['vitals', 'pressure'].map((metric) => endedObserver('lammps-0', metric))
const logOf = (metric: string) => recordedLog(`lammps-0.${metric}`)

/** Returns the text that `collect` writes for the recorded run. */
function collected(): string {
  const texts = OBSERVERS.map((observer) => {
    const transcript = transcribe('jsonl', describeObserver(observer), BUILT_IN_ROWS)
    const lines = logOf(observer.container).trimEnd().split('\n').map(transcript.push)
    return [...lines, transcript.end({ ...observer, observedPods: null, time: null }).text].join('')
  })
  return texts.join('')
}

const STORE = fileURLToPath(new URL('store-runs.ts', import.meta.url))
const root = ownFolder(t)
writeFileSync(join(root, 'collected.jsonl'), collected())
const folderOf = (name: string) => join(root, `namespace=hpc/date=2026-01-02/run=${name}`)
const [FIRST, SECOND] = ['lammps-11111111', 'lammps-22222222']
let printed = ''
t.before(() => {
  const words = [STORE, folderOf(FIRST), folderOf(SECOND)]
  printed = execFileSync(process.execPath, words, { encoding: 'utf8' })
})

const HOST = createHost({ environment: {} })
const PARQUET = ['--format', 'parquet']

/** Returns the report of a run, for programs. */
async function reportOf(files: readonly string[], rows: RowsOptions = {}): Promise<string> {
  const session = createSession()
  await report(files, { output: 'json', by: 'auto', ...rows }, session)
  return session.out()
}

t.test('the rows of runs that are stored together are those that collect writes', async (t) => {
  for (const folder of [FIRST, SECOND].map(folderOf)) {
    const stored = readFileSync(join(folder, 'rows.jsonl.gz'))
    t.equal(gunzipSync(stored).toString(), collected())
    t.match(readFileSync(join(folder, 'report.html'), 'utf8'), /<\/html>\s*$/)
  }
})

t.test('a log without rows is named, because it does not count as stored', async (t) => {
  const missing = ['hpc/lammps-0/pressure: the log has no rows']
  t.match(JSON.parse(printed), { logs: 1, missing })
  t.equal(JSON.parse(printed).missing.length, 1)
})

t.test('report, compare and convert read a stored run by its name', async (t) => {
  const stored = await reportOf(['run/lammps-1'], { rows: root, namespace: 'hpc' })
  t.match(JSON.parse(stored).findings, [])
  t.equal(stored, await reportOf([join(root, 'collected.jsonl')]))

  const session = createSession()
  const names = [`run/${FIRST}`, `run/${SECOND}`]
  await compare(names, { output: 'json', rows: root }, session)
  t.match(session.out(), names[1])

  const to = join(t.testdir({}), 'parquet')
  const words = ['convert', 'run/lammps-1', '-n', 'hpc', '--to', to, ...PARQUET]
  const converted = await run(words, '', { environment: { RIDEALONG_ROWS: root } })
  t.equal(converted.code, 0, converted.err)
  for (const file of ['vitals.process.parquet', 'pressure.container.parquet'])
    t.same(
      readFileSync(join(to, file)),
      readFileSync(join(folderOf(FIRST), file)),
      `${file} is that of the archive`,
    )
})

t.test('a run is found by the beginning of its name, with all of its folders', async (t) => {
  const folders = (paths: readonly string[]) =>
    Object.fromEntries(paths.map((path) => [path, { 'rows.jsonl.gz': '' }]))
  const rows = t.testdir({
    'namespace=hpc': {
      'date=2026-01-02': folders(['run=a-11111111', 'run=ab-22222222']),
      'date=2026-01-05': folders(['run=a-11111111.2']),
    },
    'namespace=ml': { 'date=2026-01-03': folders(['run=ab-22222222', 'run=c-33333333']) },
  })
  const find = async (input: string, namespace?: string) => {
    const options = { rows, ...(namespace === undefined ? {} : { namespace }) }
    const files = await findRunFiles(input, options, HOST)
    return files.map((file) => (typeof file === 'string' ? file : file.name))
  }
  const first = [
    join(rows, 'namespace=hpc/date=2026-01-02/run=a-11111111/rows.jsonl.gz'),
    join(rows, 'namespace=hpc/date=2026-01-05/run=a-11111111.2/rows.jsonl.gz'),
  ]
  t.strictSame(await find('run/a-1'), first)
  t.strictSame(await find('run/a-11111111', 'hpc'), first)
  t.equal((await find('run/ab', 'ml')).length, 1)
  t.strictSame(await find('other.jsonl'), ['other.jsonl'])
  await t.rejects(find('run/ab-22222222'), {
    message:
      'run/ab-22222222 is the name of several runs: run/ab-22222222 (namespace=ml, ' +
      'date=2026-01-03), run/ab-22222222 (namespace=hpc, date=2026-01-02); use a whole name, or -n',
  })
  await t.rejects(find('run/a', 'hpc'), /several runs/)
  await t.rejects(find('run/c', 'hpc'), {
    message:
      `there is no file run/c, and ${rows} has no run of namespace hpc ` +
      'whose name begins with c',
  })
})

t.test('a missing folder has a message', async (t) => {
  const find = (rows: RowsOptions) => findRunFiles('run/a', rows, HOST)
  await t.rejects(find({}), /s3:\/\/BUCKET\[\/PREFIX\], or set RIDEALONG_ROWS$/)
  await t.rejects(find({ rows: 'gs://runs/hpc' }), /is not a folder and does /)
  await t.rejects(find({ rows: '/nowhere' }), /cannot read \/nowhere: no such file/)
})

t.test('the logs in a folder are found, in the order of their names', async (t) => {
  const files = { 'b.log': '', 'a.jsonl.gz': '', '.c.log': '', 'page.html': '' }
  const folder = t.testdir({ run: files, pages: { 'page.html': '' } })
  const found = await findLogFiles(join(folder, 'run'))
  t.strictSame(found, [join(folder, 'run/a.jsonl.gz'), join(folder, 'run/b.log')])
  await t.rejects(findLogFiles(join(folder, 'pages')), {
    name: 'UsageError',
    message: /pages has no logs: the folder of a run has files such as POD\.CONTAINER\.jsonl/,
  })
})

t.test('a file, a missing file and standard input are returned as they are', async (t) => {
  const folder = t.testdir({ 'page.html': '' })
  for (const path of [join(folder, 'page.html'), join(folder, 'none'), '-'])
    t.strictSame(await findLogFiles(path), [path])
})
