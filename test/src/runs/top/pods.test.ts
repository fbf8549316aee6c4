import t from 'tap'
import { loadCatalog } from '../../../../src/catalog/load.ts'
import type { RowsDescription } from '../../../../src/core/catalog.ts'
import { descriptionsIn } from '../../../../src/runs/log/descriptions.ts'
import { chooseColumns } from '../../../../src/runs/top/columns.ts'
import { type LiveLog, startLiveLog } from '../../../../src/runs/top/live-log.ts'
import { buildLines, type LiveObserver, type LivePod } from '../../../../src/runs/top/pods.ts'

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

const podOf = (pod_index: string, log: LiveLog, more: Partial<LiveObserver> = {}): LivePod => {
  const state = { hasStarted: true, isRead: true, isOver: false, seenAt: undefined, clockAhead: 0 }
  const shown = { isShown: true }
  const observers = [{ metric: 'pressure', log, ...shown, ...state, ...more }]
  return { namespace: 'hpc', pod: `pod-${pod_index}`, node: null, pod_index, observers }
}

const linesOf = (pod: LivePod, second: number, unit: 'pod' | 'program' = 'pod') =>
  buildLines([pod], COLUMNS, unit, { now: START + second * 1000, findings: new Map() })

t.test('a pod without programs has a line without values', async (t) => {
  const rows = [0, 1].map((second) => at(second, 'container', { memory_current: 7, throttled: 1 }))
  const pod = podOf('0', logOf('pressure', rows))
  t.strictSame(linesOf(pod, 1)[0]?.values, [null, null, 0, 7])
  const [line, ...others] = linesOf(pod, 1, 'program')
  t.match(line, { label: '0', program: null, values: [null, null, null, null] })
  t.equal(others.length, 0)
})

t.test('a pod that writes nothing after a rare row is silent after three intervals', async (t) => {
  const ran = (second: number) => at(second, 'process', { pid: 7 })
  const placed = (second: number) => at(second, 'placement', { pid: 7, pss: 1 })
  const seconds = [10, 20, 30, 40, 50]
  const rows = [ran(0), placed(0), ...seconds.map(ran), ran(60), placed(60)]
  const pod = podOf('0', logOf('pressure', rows))
  t.strictSame(linesOf(pod, 89)[0]?.state, { is: 'running' })
  t.strictSame(linesOf(pod, 91)[0]?.state, { is: 'silent', ms: 31_000 })
})

t.test('the silence is measured on the clock of the cluster', async (t) => {
  const rows = [0, 1].map((second) => at(second, 'process', { pid: 7 }))
  const pod = (clockAhead: number) => podOf('0', logOf('pressure', rows), { clockAhead })
  // The clock of this machine is 40 seconds ahead.
  t.strictSame(linesOf(pod(-40_000), 41)[0]?.state, { is: 'running' })
  t.strictSame(linesOf(pod(0), 41)[0]?.state, { is: 'silent', ms: 40_000 })
  t.strictSame(linesOf(pod(40_000), 41)[0]?.state, { is: 'silent', ms: 80_000 })
})

/** Returns a pod with these observers, whose processes use a quarter of a core. */
function podWith(pod: string, ...metrics: readonly string[]): LivePod {
  const counted = [0, 1].map((second) => {
    return at(second, 'process', { pid: 7, program: 'lmp', cpu_time: second / 4, run_delay: 0 })
  })
  const perf = startLiveLog(KNOWN.get('perf-sysstat') as RowsDescription)
  const row = { time: 100000, pid: 7, percent_cpu: 24, percent_wait: 3, program: 'lmp' }
  for (const line of [
    'METRICS OPERATOR COLLECTION START',
    'METRICS OPERATOR TIMEPOINT',
    'CPU STATISTICS TASK',
    JSON.stringify([{ ...row, command: 'lmp', container: 'app' }]),
  ])
    perf.push(line, START)
  perf.settle()
  const logs = new Map([
    ['pressure', logOf('pressure', counted)],
    ['perf-sysstat', perf],
  ])
  const observers = metrics.flatMap((metric) => {
    const log = logs.get(metric)
    return log === undefined ? [] : [{ ...podOf(pod, log).observers[0], metric, log }]
  })
  return { ...podOf(pod, perf), observers: observers as readonly LiveObserver[] }
}

t.test('each pod shows what its own observers measure, and never a sum of them', async (t) => {
  const both = ['perf-sysstat', 'pressure']
  const pods = [podWith('0', ...both), podWith('1', 'pressure'), podWith('2', 'perf-sysstat')]
  const columns = chooseColumns(KNOWN, new Set(both), [])
  for (const unit of ['pod', 'program'] as const) {
    const lines = buildLines(pods, columns, unit, { now: START + 1000, findings: new Map() })
    const shown = (key: string) =>
      lines.map(({ values }) => values[columns.findIndex((column) => column.key === key)])
    t.strictSame(shown('percent_cpu'), [24, 25, 24], 'pod 1 has no perf-sysstat')
    t.strictSame(shown('run_delay'), [0, 0, 0.03], 'pod 2 has no pressure')
  }
})
