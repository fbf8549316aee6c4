import { readFileSync } from 'node:fs'
import t from 'tap'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { type LiveLog, startLiveLog } from '../../../src/top/live-log.ts'

const { metrics } = await loadCatalog({})

function rowsOf(metric: string) {
  const rows = metrics.get(metric)?.rows
  if (rows === undefined) throw new Error(`the catalog does not describe the rows of ${metric}`)
  return rows
}

const recorded = (name: string) =>
  readFileSync(new URL(`../../logs/${name}`, import.meta.url), 'utf8').split('\n')

const PERF = recorded('perf-sysstat-ridealong.log')

const cellsIn = (log: LiveLog, section: string, name: string) =>
  [...(log.sections.get(section)?.now?.rows.values() ?? [])].map((cells) => cells[name])

t.test('a timepoint of pidstat is read before the next one begins', async (t) => {
  const log = startLiveLog(rowsOf('perf-sysstat'))
  const second = PERF.indexOf('METRICS OPERATOR TIMEPOINT', PERF.indexOf('CPU STATISTICS TASK'))
  for (const line of PERF.slice(0, second)) log.push(line, 1000)
  t.strictSame(cellsIn(log, 'process', 'percent_cpu'), [])
  log.settle()
  t.strictSame(cellsIn(log, 'process', 'percent_cpu'), [1.87, 11.21, 20.56])
  const version = log.version()
  log.push(PERF[second] ?? '', 2000)
  t.equal(log.version(), version, 'the timepoint is not read again')
  t.equal(log.sections.get('process')?.now?.at, 1000)
})

t.test('a timepoint of which more lines arrive is read again', async (t) => {
  const log = startLiveLog(rowsOf('perf-sysstat'))
  let at = 0
  for (const line of PERF) {
    if (line === 'METRICS OPERATOR TIMEPOINT') at += 1000
    log.push(line, at)
    log.settle()
  }
  const { before, now } = log.sections.get('process') ?? {}
  t.strictSame([before?.at, now?.at], [5000, 6000], 'two timepoints')
  t.strictSame(cellsIn(log, 'process', 'percent_cpu'), [9.8, 16.67, 11.76])
  t.strictSame(cellsIn(log, 'process', 'cswch_s'), [2613.73, 0, 0])
  t.ok(log.hasEnded())
})

t.test('a log whose head is missing is read from its first whole timepoint', async (t) => {
  const log = startLiveLog(rowsOf('perf-sysstat'))
  for (const line of PERF.slice(-40)) log.push(line, 1000)
  log.settle()
  t.strictSame(cellsIn(log, 'process', 'percent_cpu'), [9.8, 16.67, 11.76])
})

t.test('devices are read from the documents and the tables of iostat', async (t) => {
  for (const name of ['io-sysstat-ridealong.log', 'io-sysstat-host-volume.log']) {
    const log = startLiveLog(rowsOf('io-sysstat'))
    for (const line of recorded(name)) log.push(line, 1000)
    log.settle()
    t.ok(cellsIn(log, 'device', 'device').length > 0, `${name} has devices`)
  }
})

const START = 'METRICS OPERATOR COLLECTION START'
const row = (second: number, cells: object) =>
  JSON.stringify({ time: `2026-01-01T10:00:0${second}Z`, section: 'process', pid: 7, ...cells })

t.test('the last two timepoints of JSON Lines are kept', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  log.push(START, 0)
  for (const second of [0, 1, 3]) {
    log.push(row(second, { run_delay: second }), 0)
    log.push(row(second, { run_delay: second, pid: 8 }), 0)
  }
  const { before, now, isPartial } = log.sections.get('process') ?? {}
  t.strictSame(
    [before, now].map((one) => [one?.rows.size, one?.at]),
    [
      [2, Date.parse('2026-01-01T10:00:01Z')],
      [2, Date.parse('2026-01-01T10:00:03Z')],
    ],
  )
  t.equal(isPartial, false)
  t.equal(log.interval(), 2000)
  t.equal(log.lastAt(), Date.parse('2026-01-01T10:00:03Z'))
})

t.test('the first timepoint of a log whose head is missing may lack rows', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  log.push(row(0, { run_delay: 1 }), 0)
  t.equal(log.sections.get('process')?.isPartial, true)
  log.push(row(1, { run_delay: 2 }), 0)
  t.equal(log.sections.get('process')?.isPartial, false)
  t.equal(log.sections.get('process')?.before?.rows.size, 1, 'the rows are kept for the growth')
})

t.test('rows that are older than the last are dropped', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  log.push(START, 0)
  for (const second of [1, 2, 1]) log.push(row(second, { run_delay: second }), 0)
  t.strictSame(cellsIn(log, 'process', 'run_delay'), [2])
})

t.test('a row in JSON Lines after the marker of a timepoint is read at once', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  for (const line of [START, 'METRICS OPERATOR TIMEPOINT', row(1, { run_delay: 4 })])
    log.push(line, 0)
  t.strictSame(cellsIn(log, 'process', 'run_delay'), [4])
})

t.test('lines that do not match are counted, with the reason of the first', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  for (const line of [START, row(1, {}), row(2, { heat: 1 }), '{"time":1}', 'a sentence'])
    log.push(line, 0)
  t.match(log.unmatched(), { lines: 2, reason: 'section process has no column "heat"' })
})

t.test('the rows of an earlier run of the container are forgotten', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  for (const line of [START, row(1, {}), 'METRICS OPERATOR COLLECTION END']) log.push(line, 0)
  t.ok(log.hasEnded())
  for (const line of ['METADATA START {"metricName":"pressure"}', 'METADATA END']) log.push(line, 0)
  t.notOk(log.hasEnded())
  t.equal(log.sections.size, 0)
})

t.test('at most 20,000 rows of a timepoint are kept', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  log.push(START, 0)
  for (let pid = 0; pid < 20_010; pid += 1) log.push(row(1, { pid }), 0)
  t.equal(log.sections.get('process')?.now?.rows.size, 20_000)
})
