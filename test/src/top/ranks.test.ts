import t from 'tap'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { descriptionsIn } from '../../../src/log/descriptions.ts'
import { chooseColumns } from '../../../src/top/columns.ts'
import { type LiveLog, startLiveLog } from '../../../src/top/live-log.ts'
import { buildLines, type LiveObserver, type LiveRank } from '../../../src/top/ranks.ts'

const KNOWN = descriptionsIn(await loadCatalog({}))
const COLUMNS = chooseColumns(KNOWN, new Set(['pressure']), [])
const START = Date.parse('2026-01-01T10:00:00Z')

function logOf(metric: string, rows: readonly object[]): LiveLog {
  const description = KNOWN.get(metric)
  if (description === undefined) throw new Error(`the catalog describes the rows of ${metric}`)
  const log = startLiveLog(description)
  log.push('METRICS OPERATOR COLLECTION START', 0)
  for (const row of rows) log.push(JSON.stringify(row), 0)
  log.settle()
  return log
}

const at = (second: number, section: string, cells: object = {}) => {
  return { time: new Date(START + second * 1000).toISOString(), section, ...cells }
}

const rankOf = (rank: string, log: LiveLog, more: Partial<LiveObserver> = {}): LiveRank => {
  const state = { hasStarted: true, isRead: true, isOver: false, seenAt: undefined, clockAhead: 0 }
  const observers = [{ metric: 'pressure', log, ...state, ...more }]
  return { namespace: 'hpc', pod: `pod-${rank}`, node: null, rank, observers }
}

const linesOf = (rank: LiveRank, second: number, unit: 'rank' | 'program' = 'rank') =>
  buildLines([rank], COLUMNS, unit, START + second * 1000)

t.test('a rank without programs has a line without values', async (t) => {
  const rows = [0, 1].map((second) => at(second, 'container', { memory_current: 7, throttled: 1 }))
  const rank = rankOf('0', logOf('pressure', rows))
  t.strictSame(linesOf(rank, 1)[0]?.values, [null, null, 0, 7])
  const [line, ...others] = linesOf(rank, 1, 'program')
  t.match(line, { label: '0', program: null, values: [null, null, null, null] })
  t.equal(others.length, 0)
})

t.test('a rank that writes nothing after a rare row is silent after three intervals', async (t) => {
  const ran = (second: number) => at(second, 'process', { pid: 7 })
  const placed = (second: number) => at(second, 'placement', { pid: 7, pss: 1 })
  const seconds = [10, 20, 30, 40, 50]
  const rows = [ran(0), placed(0), ...seconds.map(ran), ran(60), placed(60)]
  const rank = rankOf('0', logOf('pressure', rows))
  t.strictSame(linesOf(rank, 89)[0]?.state, { is: 'running' })
  t.strictSame(linesOf(rank, 91)[0]?.state, { is: 'silent', ms: 31_000 })
})

t.test('the silence is measured on the clock of the cluster', async (t) => {
  const rows = [0, 1].map((second) => at(second, 'process', { pid: 7 }))
  const rank = (clockAhead: number) => rankOf('0', logOf('pressure', rows), { clockAhead })
  // The clock of this machine is 40 seconds ahead.
  t.strictSame(linesOf(rank(-40_000), 41)[0]?.state, { is: 'running' })
  t.strictSame(linesOf(rank(0), 41)[0]?.state, { is: 'silent', ms: 40_000 })
  t.strictSame(linesOf(rank(40_000), 41)[0]?.state, { is: 'silent', ms: 80_000 })
})
