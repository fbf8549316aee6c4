import t from 'tap'
import type { Sample } from '../../../../src/runs/log/columns.ts'
import type { JobProcess } from '../../../../src/runs/metrics/mpi-trace/mpi-job.ts'
import { findStuckProcesses } from '../../../../src/runs/metrics/mpi-trace/stuck-processes.ts'
import { joinStarting } from '../../../../src/runs/metrics/mpi-trace/stuck-start.ts'
import type { NcclRun } from '../../../../src/runs/metrics/nccl-ras/nccl-run.ts'
import { findStuckRanks } from '../../../../src/runs/metrics/nccl-ras/stuck-ranks.ts'
import { findStuckPython } from '../../../../src/runs/metrics/python-profile/stuck-python.ts'
import { startLiveLog } from '../../../../src/runs/top/live-log.ts'
import { startLiveStore } from '../../../../src/runs/top/live-store.ts'
import { findNoProgress } from '../../../../src/runs/top/no-progress.ts'
import type { PythonProcess } from '../../../../src/runs/waiting/current-stacks.ts'
import { absent, waiting } from '../findings/cases.ts'
import { DESCRIPTIONS, podRows } from '../findings/rows.ts'
import { nowRow, STACKS } from '../metrics/python-profile/python-rows.ts'
import { type CountedReads, countReads } from './counted-reads.ts'

/** Returns the observer of a metric of a pod, whose log has these rows. */
function observerOf(metric: string, rows: readonly Sample[], pod = 'job-3') {
  const description = DESCRIPTIONS.get(metric)
  if (description === undefined) throw new Error(`the catalog describes the rows of ${metric}`)
  const live = startLiveStore(metric, `hpc/${pod}`)
  const log = startLiveLog(description, live)
  for (const row of rows.filter((one) => one.metric === metric)) {
    const section = description.sections.find(({ name }) => name === row.section)
    if (section !== undefined) log.pushRow({ section, at: Date.parse(row.time ?? ''), cells: row })
  }
  log.settle()
  const state = { hasStarted: true, isRead: true, isOver: false, seenAt: undefined, clockAhead: 0 }
  return { metric, log, live, isShown: true, ...state }
}

t.test('the line of Python in which a late process is', async (t) => {
  const stack = '<module> (train.py:60);load_batch (data.py:41)'
  const late = { ...absent('stopped', () => 21), now: { threads: 'main', stack } }
  const rows = podRows('3', waiting, { others: [late] })
  const sentences = (metrics: readonly string[]) => {
    const observers = metrics.map((metric) => observerOf(metric, rows))
    const pod = { namespace: 'hpc', pod: 'job-3', node: null, pod_index: '3', observers }
    const now = observers[0]?.log.lastAt() ?? 0
    return findNoProgress([pod], now).map(({ sentence }) => sentence)
  }
  const text = /MPI rank 1 has not come: it is stopped in load_batch \(data\.py:41\)\.$/
  t.match(sentences(['mpi-trace', 'python-profile']), [text])
  t.match(sentences(['mpi-trace']), [/MPI rank 1 has not come: it is stopped\.$/])
})

t.test('pods of Python that wait for a data loader that hangs', async (t) => {
  const computes = [{ stack: STACKS.computes, unchanged: 0 }]
  const worker = { pid: 71, stack: STACKS.worker, unchanged: 150 }
  const shapes = [
    ['0', [{ stack: STACKS.waits, unchanged: 140 }]],
    ['1', [{ stack: STACKS.asks, unchanged: 150 }, worker]],
  ] as const
  const livePod = ([index, own]: (typeof shapes)[number], silent = 0) => {
    const rows = [0, 10, 200 - silent].flatMap((seconds) =>
      (seconds <= 10 ? computes : own).map((shape) => nowRow(seconds, { index, ...shape })),
    )
    const pod = `job-${index}`
    const observers = [observerOf('python-profile', rows, pod)]
    return { namespace: 'hpc', pod, node: null, pod_index: index, observers }
  }
  const now = 1.79e12 + 201_000
  const found = findNoProgress(
    shapes.map((shape) => livePod(shape)),
    now,
  )
  t.match(found, [
    {
      sentence:
        'For 2 min 20 s, hpc/job-0 waits in all_reduce ' +
        '(torch/distributed/distributed_c10d.py:2810). ' +
        'hpc/job-1 has not come: it waits for its data loader. ' +
        'Process 71 of the data loader waits in load (data.py:14).',
    },
  ])
  t.strictSame([...(found[0]?.pods ?? [])].sort(), ['hpc/job-0', 'hpc/job-1'])
  const silent = shapes.map((shape) => livePod(shape, 190))
  t.strictSame(findNoProgress(silent, now + 300_000), [], 'no rows arrive')
})

// Logs can be forged: each of these looks has as many keys as rows, which would be slow if a look
// passed through all rows for each key.

type Look = (size: number, reads: CountedReads) => void

const times = <Value>(size: number, make: (index: number) => Value) =>
  Array.from({ length: size }, (_, index) => make(index))

/** Processes of MPI, each with a job of its own, or each in a communicator of its own. */
const processOf = (index: number, facts: object) => ({
  ...{ source: `hpc/pod-${index}`, pod: `hpc/pod-${index}`, program: 'app', library: 'x' },
  ...{ pid: 7, rank: index, size: 2, job: '1', state: 'running', elapsed: 100, endedAt: null },
  ...{ begun: new Map(), open: null, ...facts },
})

const LOOKS: Readonly<Record<string, Look>> = {
  'jobs that start': (size, { count }) => {
    const processes = times(size, (at) => count(processOf(at, { job: `${at}` })))
    const starting = new Map(
      times(size, (at) => [`${at}`, count(processOf(at, { job: `${at}`, call: 'MPI_Init' }))]),
    )
    joinStarting({ processes, starting } as never, (source) => source)
  },
  'communicators of MPI': (size, { count }) => {
    const processes = times(size, (at) => {
      const thread = {
        call: 'MPI_Barrier',
        communicator: `c${at}`,
        number: 1,
        since: 1,
        samples: 3,
      }
      const open = { at: 1000, elapsed: 100, interval: 10, threads: [{ ...thread, thread: 1 }] }
      const begun = count(new Map([[`c${at}`, { size: 2, begun: 1 }]]))
      return processOf(at, { open, begun }) as unknown as JobProcess
    })
    findStuckProcesses({ job: '1', size, processes, conflict: null, problem: null })
  },
  'programs of Python': (size, { count }) => {
    const stackOf = (at: number, hasEnded: boolean) => {
      const frames = count(STACKS.waits.split(';'))
      const when = { at: 1000, firstAt: 1, interval: 10, endedAt: hasEnded ? 1000 : null }
      const program = { container: 'app', program: `${at}`, pod: `hpc/pod-${at}` }
      return { frames, hasEnded, ...when, ...program } as unknown as PythonProcess
    }
    const all = times(size, (at) => [stackOf(at, false), stackOf(at, true)])
    findStuckPython(all.flat(), () => false)
  },
  'communicators of NCCL': (size, { count }) => {
    const communicators = times(size, (at) => ({ name: `${at}`, missing: 0, behind: 1, size: 2 }))
    const ranks = times(size, (at) =>
      count({ communicator: `${at}`, rank: at, host: `10.0.0.${at}`, pid: 7, behind: 1 }),
    )
    const processes = times(size, (at) => {
      const process = { source: `pod-${at}`, pid: 7, seconds: 1, addresses: [`10.0.0.${at}`] }
      return [`${at}`, { ...process, addresses: count(process.addresses) }] as const
    })
    const answers = new Map([['pod-0', { source: 'pod-0', at: 1, communicators, ranks }]])
    const run = { answers, processes: new Map(processes) } as unknown as NcclRun
    findStuckRanks(run, (source) => source)
  },
}

for (const [name, look] of Object.entries(LOOKS))
  t.test(`a look at many ${name} takes steps in proportion to the rows`, async (t) => {
    const stepsFor = (size: number) => {
      const reads = countReads()
      look(size, reads)
      return reads.reads
    }
    const [few, many] = [stepsFor(100), stepsFor(800)]
    t.ok(few > 0 && many <= 12 * few, `${few} reads, and ${many} for eight times the rows`)
  })
