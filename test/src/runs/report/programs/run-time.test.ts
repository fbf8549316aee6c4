import t from 'tap'
import { type ContainerUse, readContainerUses } from '../../../../../src/runs/log/container-use.ts'
import { newRun } from '../../../../../src/runs/report/gather.ts'
import { readLogFacts } from '../../../../../src/runs/report/programs/log-facts.ts'
import { measureTime } from '../../../../../src/runs/report/programs/run-time.ts'
import { addPoint, newTrack } from '../../../../../src/runs/report/track.ts'

const NOWHERE = { source: null, pod: null, namespace: null, node: null, pod_index: null }

/** Measures a run of one process, about which each metric has rows at these seconds. */
function timeOf(
  rows: Readonly<Record<string, readonly number[]>>,
  mpiSeconds = 0,
  containers: Readonly<Record<string, readonly ContainerUse[]>> = {},
) {
  const run = newRun()
  for (const [metric, uses] of Object.entries(containers))
    run.evidence.uses.set(metric, new Map(uses.map((use, index) => [`app-${index}`, use])))
  for (const [metric, times] of Object.entries(rows)) {
    run.sources.set(metric, { place: { ...NOWHERE, metric }, start: null, log: undefined })
    const track = newTrack({ source: metric, program: 'app', pid: 70 }, 0)
    for (const seconds of times) addPoint(track, { seconds, interval: null }, [])
    run.processes.set(metric, track)
  }
  const logs = readLogFacts(run, () => '0')
  const job = mpiSeconds === 0 ? null : { seconds: mpiSeconds, metric: 'mpi-trace' }
  return measureTime(run, logs, new Map(), job)
}

const EACH_SECOND = Array.from({ length: 95 }, (_, second) => second)

t.test('the time of a run is that from its first to its last row', async (t) => {
  const expected = { seconds: 94, resolution: 1, metric: 'vitals' }
  t.strictSame(timeOf({ vitals: EACH_SECOND }), expected)
  t.equal(timeOf({ vitals: [0] }), null, 'one row is no time')
})

t.test('the metric with the finest rows at the end says how exact the time is', async (t) => {
  const rows = { vitals: EACH_SECOND, 'torch-collectives': [0, 60, 94.6] }
  t.strictSame(timeOf(rows), { seconds: 94.6, resolution: 1, metric: 'vitals' })
})

t.test('a metric whose rows end before says nothing about the end', async (t) => {
  const rows = { 'io-sysstat': [0, 1, 2, 3], vitals: [0, 10, 20, 30] }
  t.strictSame(timeOf(rows), { seconds: 30, resolution: 10, metric: 'vitals' })
})

t.test('a longer time of the MPI job is exact', async (t) => {
  const exact = { seconds: 94.8, resolution: 0, metric: 'mpi-trace' }
  t.strictSame(timeOf({ vitals: EACH_SECOND }, 94.8), exact)
  t.match(timeOf({ vitals: EACH_SECOND }, 90), { seconds: 94, resolution: 1, metric: 'vitals' })
})
/** The use of a container in a summary. */
function use(seconds: number, final = true): ContainerUse {
  const [found] = readContainerUses({ containers: [{ container: 'app', seconds, final }] }).values()
  return found as ContainerUse
}

t.test('without an MPI job, the time is that of a container in a summary', async (t) => {
  const rows = { vitals: [0, 3, 6, 9] }
  const byRows = { seconds: 9, resolution: 3, metric: 'vitals' }
  const exact = (seconds: number) => ({ seconds, resolution: 0, metric: 'vitals' })
  t.strictSame(timeOf(rows, 0, { vitals: [use(12.4)] }), exact(12.4))
  t.strictSame(
    timeOf(rows, 0, { vitals: [use(3), use(14.9), use(11)] }),
    exact(14.9),
    'the longest',
  )
  t.strictSame(timeOf(rows, 0, { vitals: [use(15.1)] }), byRows, 'it ran before its observer')
  t.strictSame(timeOf(rows, 0, { vitals: [use(12.4, false)] }), byRows, 'its end was not seen')
  t.strictSame(timeOf(rows, 0, { vitals: [use(8)] }), byRows, 'the rows were seen for longer')
  const mpi = { seconds: 11, resolution: 0, metric: 'mpi-trace' }
  t.strictSame(timeOf(rows, 11, { vitals: [use(12.4)] }), mpi, 'the MPI job is named first')
  t.strictSame(timeOf(rows, 5, { vitals: [use(12.4)] }), exact(12.4), 'a shorter MPI job')
})
