import t from 'tap'
import { startLiveProcesses } from '../../../../src/runs/mpi/live-processes.ts'
import { startLiveLog } from '../../../../src/runs/top/live-log.ts'
import { findNoProgress } from '../../../../src/runs/top/no-progress.ts'
import { absent, waiting } from '../findings/cases.ts'
import { DESCRIPTIONS, rankRows } from '../findings/rows.ts'

/** Returns the observer of a metric of a pod, whose log has these rows. */
function observerOf(metric: string, rows: ReturnType<typeof rankRows>) {
  const description = DESCRIPTIONS.get(metric)
  if (description === undefined) throw new Error(`the catalog describes the rows of ${metric}`)
  const mpi = metric === 'mpi-trace' ? startLiveProcesses('hpc/job-3') : undefined
  const log = startLiveLog(description, mpi)
  for (const row of rows.filter((one) => one.metric === metric)) {
    const section = description.sections.find(({ name }) => name === row.section)
    if (section !== undefined) log.pushRow({ section, at: Date.parse(row.time ?? ''), cells: row })
  }
  log.settle()
  const state = { hasStarted: true, isRead: true, isOver: false, seenAt: undefined, clockAhead: 0 }
  return { metric, log, mpi, isShown: true, ...state }
}

t.test('the line of Python in which a late process is', async (t) => {
  const stack = '<module> (train.py:60);load_batch (data.py:41)'
  const late = { ...absent('stopped', () => 21), now: { threads: 'main', stack } }
  const rows = rankRows('3', waiting, { others: [late] })
  const sentences = (metrics: readonly string[]) => {
    const observers = metrics.map((metric) => observerOf(metric, rows))
    const rank = { namespace: 'hpc', pod: 'job-3', node: null, rank: '3', observers }
    const now = observers[0]?.log.lastAt() ?? 0
    return findNoProgress([rank], now).map(({ sentence }) => sentence)
  }
  const text = /MPI rank 1 has not come: it is stopped in load_batch \(data\.py:41\)\.$/
  t.match(sentences(['mpi-trace', 'python-profile']), [text])
  t.match(sentences(['mpi-trace']), [/MPI rank 1 has not come: it is stopped\.$/])
})
