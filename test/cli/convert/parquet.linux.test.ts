import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { isSample } from '../../../src/runs/log/entry.ts'
import { readLog } from '../../../src/runs/log/read.ts'
import { jsonLines } from '../../../src/runs/log/write.ts'
import { LARGE_LOGS, largeLog } from '../../bench/logs/large-logs.ts'
import { BUILT_IN_ROWS } from '../../src/runs/log/built-in.ts'
import { environment } from '../../tools/mpi/environment.ts'
import { run } from '../command.ts'

const LOGS = fileURLToPath(new URL('../../logs/', import.meta.url))
const ALL = readdirSync(join(LOGS, 'all-metrics'))
  .sort()
  .map((name) => join(LOGS, 'all-metrics', name))
const OF_OPERATOR = join(LOGS, 'perf-sysstat-flux-operator.log')
const READER = fileURLToPath(new URL('read-parquet.py', import.meta.url))

type Row = Readonly<Record<string, unknown>>

interface ReadFile {
  readonly types: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  readonly groups: number
  readonly count: number
  readonly pyarrow: readonly Row[]
  readonly duckdb: readonly Row[]
}

/** Reads all files of a folder with pyarrow and with DuckDB. */
function read(folder: string): Readonly<Record<string, ReadFile>> {
  const python = join(environment('parquet', 'pyarrow==26.0.1', 'duckdb==2.0.1'), 'bin', 'python3')
  return JSON.parse(execFileSync(python, [READER, folder], { encoding: 'utf8', maxBuffer: 1e9 }))
}

/** Returns the rows of logs as the files should have them, by the name of the file. */
function rowsIn(files: readonly string[]): ReadonlyMap<string, readonly Row[]> {
  const samples = files.flatMap((file) => {
    const source = file.slice(file.lastIndexOf('/') + 1)
    return readLog(readFileSync(file, 'utf8'), { source }, BUILT_IN_ROWS).filter(isSample)
  })
  const rows = Map.groupBy(samples, ({ metric, section }) => `${metric}.${section}.parquet`)
  return new Map([...rows].map(([name, own]) => [name, own.map(withTime)]))
}

/** Times are timestamps without a zone, which Python prints without zeros at the end. */
function withTime(row: Row): Row {
  const time = typeof row.time === 'string' && row.time.includes('T') ? Date.parse(row.time) : null
  return { ...row, time }
}

function fromPython(row: Row): Row {
  const text = row.time === null ? null : String(row.time).replace(/(\+00:00|Z)?$/, 'Z')
  return { ...row, time: text === null ? null : Date.parse(text) }
}

t.test('each section is a file, whose rows pyarrow and DuckDB read', async (t) => {
  const folder = join(t.testdir({}), 'run')
  const converting = ['convert', ...ALL, '--format', 'parquet', '--to', folder]
  const { code, out, err } = await run(converting)
  t.strictSame([code, out, err], [0, '', ''])
  const files = read(folder)
  const rows = rowsIn(ALL)
  t.ok(rows.size > 15, 'the logs have the sections of many metrics')
  t.strictSame(Object.keys(files), [...rows.keys()].sort())
  for (const [name, { pyarrow, duckdb }] of Object.entries(files)) {
    t.strictSame(pyarrow.map(fromPython), rows.get(name), `${name}, pyarrow`)
    t.strictSame(duckdb.map(fromPython), rows.get(name), `${name}, DuckDB`)
  }
  const { types, metadata } = files['vitals.process.parquet'] as ReadFile
  t.match(types, { time: /^timestamp\[ms/, timepoint: 'int32', program: 'string', rss: 'double' })
  const columns = JSON.parse(metadata['ridealong.columns'] ?? '')
  t.match(columns.rss, { type: 'number', meaning: /\w/, unit: /\w/ })
})

t.test('the output of collect has the same rows as the logs', async (t) => {
  const folder = t.testdir({})
  const file = ALL.find((name) => name.includes('vitals')) as string
  const source = file.slice(file.lastIndexOf('/') + 1)
  const collected = join(folder, 'run.jsonl')
  writeFileSync(
    collected,
    jsonLines(readLog(readFileSync(file, 'utf8'), { source }, BUILT_IN_ROWS)),
  )
  const options = ['--format', 'parquet', '--to']
  t.equal((await run(['convert', file, ...options, join(folder, 'a')])).code, 0)
  t.equal((await run(['convert', collected, ...options, join(folder, 'b')])).code, 0)
  t.strictSame(read(join(folder, 'b')), read(join(folder, 'a')))
})

t.test('the ending .parquet is the file of the only section', async (t) => {
  const folder = t.testdir({ 'old.parquet': 'before' })
  const { code, err } = await run(['convert', OF_OPERATOR, '--to', join(folder, 'old.parquet')])
  t.strictSame([code, err], [0, ''])
  const { 'old.parquet': file } = read(folder)
  const rows = rowsIn([OF_OPERATOR]).get('perf-sysstat.process.parquet')
  t.strictSame(file?.pyarrow.map(fromPython), rows)
  t.ok(
    file?.pyarrow.every(({ time }) => time === null),
    'a time without a date is no timestamp',
  )
  const several = await run(['convert', ...ALL, '--to', join(folder, 'new.parquet')])
  t.equal(several.code, 2)
  t.match(several.err, /the run has rows of 2\d sections \(cpu-profile\.function, .*--to FOLDER/)
  t.strictSame(readdirSync(folder), ['old.parquet'], 'nothing is half done')
})

t.test('a run of many rows has several row groups', async (t) => {
  const folder = t.testdir({})
  const large = LARGE_LOGS.find(({ name }) => /network.*timepoints/.test(name))
  if (large === undefined) throw new Error('there is no such large log')
  writeFileSync(join(folder, 'large.log'), [...largeLog(large, 16e6)].join(''))
  const { code, err } = await run([
    ...['convert', join(folder, 'large.log')],
    ...['--format', 'parquet', '--to', join(folder, 'run')],
  ])
  t.equal(code, 0, err)
  const counts = new Map<string, number>()
  for (const line of readFileSync(join(folder, 'large.log'), 'utf8').split('\n')) {
    const [, section] = /"section":"(\w+)"/.exec(line) ?? []
    if (section !== undefined) counts.set(section, (counts.get(section) ?? 0) + 1)
  }
  const files = Object.entries(read(join(folder, 'run')))
  t.ok(files.some(([, { groups }]) => groups > 1))
  for (const [name, { count }] of files) t.equal(count, counts.get(name.split('.')[1] ?? ''), name)
})

t.test('the entry at the end of a log describes the rows of a metric of your own', async (t) => {
  const folder = t.testdir({})
  const file = ALL.find((name) => name.includes('vitals')) as string
  const entries = readLog(readFileSync(file, 'utf8'), { source: 'run' }, BUILT_IN_ROWS)
  const renamed = entries.map((entry) => ({ ...entry, metric: 'my-vitals' }))
  writeFileSync(join(folder, 'run.jsonl'), jsonLines(renamed as typeof entries))
  const words = [join(folder, 'run.jsonl'), '--format', 'parquet', '--to', join(folder, 'run')]
  const { code, err } = await run(['convert', ...words])
  t.strictSame([code, err], [0, ''])
  const { 'my-vitals.process.parquet': own } = read(join(folder, 'run'))
  const samples = entries.filter(isSample).filter(({ section }) => section === 'process')
  t.strictSame(
    own?.pyarrow.map(fromPython),
    samples.map((sample) => withTime({ ...sample, metric: 'my-vitals' })),
  )
})

t.test('rows of a metric without a description are left out, with a notice', async (t) => {
  const folder = t.testdir({})
  const sample = { source: 'a', section: 'pool', timepoint: 0, time: '2026-11-26T01:40:10.000Z' }
  const cells = { kind: 'process', metric: 'threads', seconds: 0, interval: 1, busy: 2 }
  const hostile = { ...cells, metric: '../../outside' }
  const rows = [cells, cells, hostile].map((row) => `${JSON.stringify({ ...row, ...sample })}\n`)
  const file = join(folder, 'run.jsonl')
  writeFileSync(file, rows.join(''))
  const [vitals = ''] = ALL.filter((name) => name.includes('vitals'))
  const words = [file, vitals, '--format', 'parquet', '--to', join(folder, 'run')]
  const { code, err } = await run(['convert', ...words])
  t.equal(code, 0)
  t.match(err, '2 rows of threads are left out: the catalog does not describe it; use --catalog')
  t.match(err, '1 row of ../../outside is left out')
  t.ok(readdirSync(join(folder, 'run')).every((name) => name.startsWith('vitals.')))
})

t.test('errors name what is wrong, and leave no file', async (t) => {
  const folder = t.testdir({ full: { file: '' }, 'text.log': 'nothing\n' })
  for (const [words, message] of [
    [[OF_OPERATOR], /Parquet has a file for each section of a metric: use --to FOLDER/],
    [[OF_OPERATOR, '--to', join(folder, 'full')], /full is not empty: name a new folder/],
    [[OF_OPERATOR, '--to', join(folder, 'no', 'run')], /cannot write .*no.run: .*no such file/i],
    [[join(folder, 'text.log'), '--to', join(folder, 'run')], /neither the log of an observer/],
  ] as const) {
    const { code, err } = await run(['convert', ...words, '--format', 'parquet'])
    t.equal(code, 2)
    t.match(err, message)
  }
  t.strictSame(readdirSync(folder).sort(), ['full', 'text.log'])
  mkdirSync(join(folder, 'empty'))
  const { code } = await run([
    ...['convert', OF_OPERATOR, '--format', 'parquet', '--to', join(folder, 'empty')],
  ])
  t.equal(code, 0, 'an empty folder is used')
  t.ok(statSync(join(folder, 'empty', 'perf-sysstat.process.parquet')).size > 0)
})
