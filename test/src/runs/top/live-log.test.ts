import { readFileSync } from 'node:fs'
import t from 'tap'
import { loadCatalog } from '../../../../src/catalog/load.ts'
import { type LiveLog, startLiveLog } from '../../../../src/runs/top/live-log.ts'

const { metrics } = await loadCatalog({})

function rowsOf(metric: string) {
  const rows = metrics.get(metric)?.rows
  if (rows === undefined) throw new Error(`the catalog does not describe the rows of ${metric}`)
  return rows
}

const recorded = (name: string) =>
  readFileSync(new URL(`../../../logs/${name}`, import.meta.url), 'utf8').split('\n')

const PERF = recorded('perf-sysstat-ridealong.log')

const cellsIn = (log: LiveLog, section: string, name: string) =>
  [...(log.sections().get(section)?.now.values() ?? [])].map(({ cells }) => cells[name])

/** The times of the rows before the last ones, and of the last ones. */
const timesIn = (log: LiveLog, section: string) => {
  const { before, now } = log.sections().get(section) ?? {}
  return [before, now].map((rows) => [...(rows?.values() ?? [])][0]?.at)
}

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
  t.strictSame(timesIn(log, 'process'), [undefined, 1000])
})

t.test('a timepoint of which more lines arrive is read again', async (t) => {
  const log = startLiveLog(rowsOf('perf-sysstat'))
  let at = 0
  for (const line of PERF) {
    if (line === 'METRICS OPERATOR TIMEPOINT') at += 1000
    log.push(line, at)
    log.settle()
  }
  t.strictSame(timesIn(log, 'process'), [5000, 6000], 'two timepoints')
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
const timeOf = (second: number) => Date.parse('2026-01-01T10:00:00Z') + second * 1000
const row = (second: number, cells: object) =>
  JSON.stringify({
    time: new Date(timeOf(second)).toISOString(),
    section: 'process',
    pid: 7,
    ...cells,
  })

/** Reads lines of a metric until no more arrive. */
function read(metric: string, lines: readonly string[]): LiveLog {
  const log = startLiveLog(rowsOf(metric))
  for (const line of lines) log.push(line, 0)
  log.settle()
  return log
}

t.test('the last two timepoints of JSON Lines are kept', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  log.push(START, 0)
  for (const second of [0, 2, 4]) {
    log.push(row(second, { run_delay: second }), 0)
    log.push(row(second, { run_delay: second, pid: 8 }), 0)
  }
  log.settle()
  const { before, now } = log.sections().get('process') ?? {}
  t.strictSame([before?.size, now?.size], [2, 2])
  t.strictSame(timesIn(log, 'process'), [timeOf(2), timeOf(4)])
  t.equal(log.interval(), 2000)
  t.equal(log.lastAt(), timeOf(4))
})

t.test('a timepoint is shown when all of its rows have arrived', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  for (const line of [START, row(0, { run_delay: 1 }), row(0, { run_delay: 2, pid: 8 })])
    log.push(line, 0)
  log.push(row(1, { run_delay: 3 }), 0)
  t.strictSame(cellsIn(log, 'process', 'run_delay'), [1, 2], 'the timepoint before')
  log.push(row(1, { run_delay: 4, pid: 8 }), 0)
  const { version } = log
  const before = version()
  log.settle()
  t.strictSame(cellsIn(log, 'process', 'run_delay'), [3, 4])
  t.ok(version() > before)
  log.push(row(1, { run_delay: 5, pid: 9 }), 0)
  log.settle()
  t.strictSame(cellsIn(log, 'process', 'run_delay'), [3, 4, 5], 'a row that was late')
  t.strictSame(timesIn(log, 'process'), [timeOf(0), timeOf(1)])
})

t.test('the first timepoint of a log whose head is missing may lack rows', async (t) => {
  const log = read('pressure', [row(0, { run_delay: 1 })])
  t.strictSame(cellsIn(log, 'process', 'run_delay'), [])
  const needed = new Set(['process'])
  log.push(row(1, { run_delay: 2 }), 0)
  log.settle()
  t.strictSame(cellsIn(log, 'process', 'run_delay'), [2])
  t.equal(log.sections().get('process')?.before, undefined, 'its rows do not show the growth')
  t.notOk(log.hasEnough(needed), 'there is no growth yet')
  log.push(row(2, { run_delay: 4 }), 0)
  log.settle()
  t.strictSame(timesIn(log, 'process'), [timeOf(1), timeOf(2)])
  t.ok(log.hasEnough(needed))
  t.ok(read('pressure', [START, row(0, {})]).hasEnough(needed), 'there are no more rows to read')
})

const tcp = (second: number) =>
  row(second, { section: 'tcp', pid: undefined, out_segments: second })
const socket = (second: number, bytes_sent: number) =>
  row(second, { section: 'socket', container: 'app', program: 'lmp', peer: '10.0.0.1', bytes_sent })

t.test('a section without rows in the last timepoint has no values', async (t) => {
  const open = [START, tcp(0), socket(0, 100), tcp(10), socket(10, 200)]
  t.strictSame(cellsIn(read('network', open), 'socket', 'bytes_sent'), [200])
  const closed = read('network', [...open, tcp(20)])
  t.strictSame(cellsIn(closed, 'socket', 'bytes_sent'), [])
  t.strictSame(cellsIn(closed, 'tcp', 'out_segments'), [20])
  const later = [...open, ...[20, 30, 40].map(tcp), tcp(50), socket(50, 900)]
  const { before } = read('network', later).sections().get('socket') ?? {}
  t.equal(before, undefined, 'the growth of four intervals is not that of one')
})

t.test('the interval is that between the timepoints of the log', async (t) => {
  const sockets = [START, tcp(0), socket(0, 1), ...[1, 2, 3].map((n) => tcp(n * 10))]
  t.equal(read('network', [...sockets, tcp(40), socket(40, 2)]).interval(), 10_000)
  const placed = (second: number) => row(second, { section: 'placement', pss: 1 })
  const rare = [START, row(0, {}), placed(0), ...[10, 20, 30].map((second) => row(second, {}))]
  t.equal(read('pressure', [...rare, row(40, {}), placed(40)]).interval(), 10_000)
})

t.test('sections whose rows have slightly different times are both current', async (t) => {
  const lines = [0, 10, 20].flatMap((second) => [tcp(second), socket(second + 0.01, second)])
  const log = read('network', [START, ...lines, tcp(30)])
  t.strictSame(timesIn(log, 'tcp'), [timeOf(20), timeOf(30)])
  t.equal(log.interval(), 10_000)
  const whole = read('network', [START, ...lines])
  t.strictSame(timesIn(whole, 'tcp'), [timeOf(10), timeOf(20)])
  t.strictSame(timesIn(whole, 'socket'), [timeOf(10.01), timeOf(20.01)])
})

t.test('rows of placement are kept while their process has rows', async (t) => {
  const ran = (second: number, ...pids: readonly number[]) =>
    pids.map((pid) => row(second, { pid, run_delay: 1 }))
  const placed = (second: number, pid: number, pss: number, migrations: number) =>
    row(second, { section: 'placement', pid, pss, migrations })
  const lines = [START, ...ran(0, 7, 8), placed(0, 7, 70, 5), ...ran(10, 7, 8)]
  const pss = (...more: readonly string[]) =>
    cellsIn(read('pressure', [...lines, ...more]), 'placement', 'pss')
  t.strictSame(pss(), [], 'the other process may have the greatest value')
  const both = [placed(10, 8, 80, 5), ...ran(20, 7, 8)]
  t.strictSame(pss(...both), [70, 80])
  const again = [...both, ...ran(30, 7, 8), placed(30, 7, 71, 65), ...ran(40, 7, 8)]
  const { before, now } =
    read('pressure', [...lines, ...again])
      .sections()
      .get('placement') ?? {}
  const readings = [before, now].map((rows) => [...(rows?.values() ?? [])])
  t.strictSame(
    readings.map((rows) => rows.map(({ at, cells }) => [at, cells.pid, cells.migrations])),
    [
      [[timeOf(0), 7, 5]],
      [
        [timeOf(30), 7, 65],
        [timeOf(10), 8, 5],
      ],
    ],
  )
  t.strictSame(pss(...both, ...ran(30, 8)), [80], 'process 7 has ended')
  const tail = read('pressure', [...ran(0, 7), ...ran(10, 7), ...ran(20, 7)])
  t.notOk(tail.hasEnough(new Set(['placement'])), 'its row is further up in the log')
  t.ok(tail.hasEnough(new Set(['process'])))
})

t.test('rows that are older than the last are dropped', async (t) => {
  const rows = [1, 2].map((second) => row(second, { run_delay: second }))
  const log = read('pressure', [START, ...rows])
  const version = log.version()
  log.push(row(1, { run_delay: 1 }), 0)
  log.settle()
  t.strictSame(cellsIn(log, 'process', 'run_delay'), [2])
  t.equal(log.version(), version, 'they do not count as recent rows')
})

t.test('timepoints of pidstat are read after the clock was set back', async (t) => {
  const log = startLiveLog(rowsOf('perf-sysstat'))
  const first = PERF.indexOf('METRICS OPERATOR TIMEPOINT')
  const second = PERF.indexOf('METRICS OPERATOR TIMEPOINT', first + 1)
  for (const at of [10_000, 70_000, 20_000, 80_000, 80_000]) {
    for (const line of PERF.slice(first, second)) log.push(line, at)
    log.settle()
  }
  t.equal(log.interval(), 60_000)
  t.strictSame(timesIn(log, 'process'), [190_000, 250_000])
})

t.test('rows between the markers of timepoints are read before the next marker', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  for (const line of [START, 'METRICS OPERATOR TIMEPOINT', row(1, { run_delay: 4 })])
    log.push(line, 0)
  log.settle()
  t.strictSame(cellsIn(log, 'process', 'run_delay'), [4])
})

t.test('lines that do not match are counted, with the reason of the first', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  for (const line of [START, row(1, {})]) log.push(line, 0)
  log.settle()
  for (const line of [row(2, { pid: '1' }), '{"time":1}', 'a sentence']) log.push(line, 0)
  t.match(log.unmatched(), { lines: 2, reason: 'column pid must be a number or null' })
})

t.test('the rows of an earlier run of the container are forgotten', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  for (const line of [START, row(1, {}), 'METRICS OPERATOR COLLECTION END']) log.push(line, 0)
  t.ok(log.hasEnded())
  for (const line of ['METADATA START {"metricName":"pressure"}', 'METADATA END']) log.push(line, 0)
  t.notOk(log.hasEnded())
  t.equal(log.sections().size, 0)
})

t.test('a timepoint with too many rows or characters has no values', async (t) => {
  const log = startLiveLog(rowsOf('pressure'))
  log.push(START, 0)
  for (let pid = 0; pid < 20_000; pid += 1) log.push(row(1, { pid }), 0)
  log.settle()
  t.equal(cellsIn(log, 'process', 'pid').length, 20_000)
  log.push(row(1, { pid: 20_000 }), 0)
  log.settle()
  t.strictSame(cellsIn(log, 'process', 'pid'), [])
  log.push(row(2, { pid: 1 }), 0)
  log.settle()
  t.strictSame(cellsIn(log, 'process', 'pid'), [1])
  const program = 'x'.repeat(1024 * 1024)
  const long = Array.from({ length: 17 }, (_, pid) => row(3, { pid, program }))
  t.strictSame(cellsIn(read('pressure', [START, ...long]), 'process', 'pid'), [])
  t.equal(cellsIn(read('pressure', [START, ...long.slice(2)]), 'process', 'pid').length, 15)
})

t.test('a timepoint of pidstat with too many characters is dropped', async (t) => {
  const log = startLiveLog(rowsOf('perf-sysstat'))
  const [marker, ...lines] = PERF.slice(PERF.indexOf('METRICS OPERATOR TIMEPOINT')).slice(0, 20)
  const long = Array.from({ length: 17 }, () => 'x'.repeat(1024 * 1024))
  for (const line of [marker ?? '', ...long, ...lines]) log.push(line, 1000)
  log.settle()
  t.equal(log.lastAt(), undefined)
  for (const line of [marker ?? '', ...lines]) log.push(line, 2000)
  log.settle()
  t.strictSame(timesIn(log, 'process'), [undefined, 2000])
})
