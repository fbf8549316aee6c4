import t from 'tap'
import type { Sample } from '../../../../src/runs/log/columns.ts'
import { startLiveLog } from '../../../../src/runs/top/live-log.ts'
import { findNoProgress } from '../../../../src/runs/top/no-progress.ts'
import { joinedTaker, startJobTakers } from '../../../../src/runs/top/row-takers.ts'
import { absent, waiting } from '../findings/cases.ts'
import { DESCRIPTIONS, rankRows } from '../findings/rows.ts'
import { nowRow, STACKS } from '../profiles/python-rows.ts'

/** Returns the observer of a metric of a pod, whose log has these rows. */
function observerOf(metric: string, rows: readonly Sample[], pod = 'job-3') {
  const description = DESCRIPTIONS.get(metric)
  if (description === undefined) throw new Error(`the catalog describes the rows of ${metric}`)
  const takers = startJobTakers(metric, `hpc/${pod}`)
  const log = startLiveLog(description, joinedTaker(takers))
  for (const row of rows.filter((one) => one.metric === metric)) {
    const section = description.sections.find(({ name }) => name === row.section)
    if (section !== undefined) log.pushRow({ section, at: Date.parse(row.time ?? ''), cells: row })
  }
  log.settle()
  const state = { hasStarted: true, isRead: true, isOver: false, seenAt: undefined, clockAhead: 0 }
  return { metric, log, ...takers, isShown: true, ...state }
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

t.test('ranks of Python that wait for a data loader that hangs', async (t) => {
  const computes = [{ stack: STACKS.computes, unchanged: 0 }]
  const worker = { pid: 71, stack: STACKS.worker, unchanged: 150 }
  const shapes = [
    ['0', [{ stack: STACKS.waits, unchanged: 140 }]],
    ['1', [{ stack: STACKS.asks, unchanged: 150 }, worker]],
  ] as const
  const rankOf = ([rank, own]: (typeof shapes)[number], silent = 0) => {
    const rows = [0, 10, 200 - silent].flatMap((seconds) =>
      (seconds <= 10 ? computes : own).map((shape) => nowRow(seconds, { rank, ...shape })),
    )
    const pod = `job-${rank}`
    const observers = [observerOf('python-profile', rows, pod)]
    return { namespace: 'hpc', pod, node: null, rank, observers }
  }
  const now = 1.79e12 + 201_000
  const found = findNoProgress(
    shapes.map((shape) => rankOf(shape)),
    now,
  )
  t.match(found, [
    {
      sentence:
        'For 2 min, hpc/job-0 waits in all_reduce (torch/distributed/distributed_c10d.py:2810). ' +
        'hpc/job-1 has not come: it waits for its data loader. ' +
        'Process 71 of the data loader waits in load (data.py:14).',
    },
  ])
  t.strictSame([...(found[0]?.pods ?? [])].sort(), ['hpc/job-0', 'hpc/job-1'])
  const silent = shapes.map((shape) => rankOf(shape, 190))
  t.strictSame(findNoProgress(silent, now + 300_000), [], 'no rows arrive')
})
