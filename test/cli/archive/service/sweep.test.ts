import t from 'tap'
import type { RunClient } from '../../../../cli/archive/service/run-client.ts'
import { createRunIndex, readIndexed } from '../../../../cli/archive/service/run-index.ts'
import { type SweepOptions, sweepRuns } from '../../../../cli/archive/service/sweep.ts'

const MIDNIGHT = Date.UTC(2026, 0, 1)

/** The object Run of a run that ended at a second of the day. */
function endedRun(second: number, creationTimestamp = '2026-01-01T00:00:00Z'): object {
  const ended = new Date(MIDNIGHT + second * 1000).toISOString()
  return {
    metadata: { namespace: 'hpc', name: `job-${second}`, creationTimestamp },
    spec: { workload: { apiVersion: 'batch/v1', kind: 'Job', name: 'job', uid: `${second}` } },
    status: { phase: 'Succeeded', ended },
  }
}

const NOW = Date.UTC(2026, 1, 1)

/** Returns the index of these objects, and the options of a sweep that deletes from it. */
function start(runs: readonly object[], retention: SweepOptions['retention']) {
  const index = createRunIndex()
  const collection = index.collect()
  for (const run of runs.map(readIndexed)) if (run !== undefined) collection.put(run)
  const client: Pick<RunClient, 'delete'> = {
    async delete(run) {
      collection.remove(run)
    },
  }
  const options = {
    ...{ index, client, retention, rows: undefined },
    ...{ isLive: () => false, clock: { now: () => NOW } },
    signal: new AbortController().signal,
  } as unknown as SweepOptions
  return { index, options }
}

t.test('more Runs than a sweep deletes are left to the next sweeps', async (t) => {
  const runs = Array.from({ length: 510 }, (_, second) => endedRun(second))
  const { index, options } = start(runs, { maxAgeMs: Number.POSITIVE_INFINITY, maxRuns: 10 })
  const [left, more] = [[] as number[], [] as boolean[]]
  while (left.length < 3) {
    more.push(await sweepRuns(options, NOW))
    left.push(index.all().length)
  }
  t.strictSame(left, [310, 110, 10])
  t.strictSame(more, [true, true, false])
  t.match(index.all().at(-1), { name: 'job-509' }, 'those that ended last are kept')
})

t.test('a Run is kept for its time after its creation if a clock was behind', async (t) => {
  const runs = [endedRun(1), endedRun(2, '2026-01-31T00:00:00Z')]
  const { index, options } = start(runs, { maxAgeMs: NOW - MIDNIGHT - 10_000, maxRuns: 10 })
  await sweepRuns(options, NOW)
  t.strictSame(
    index.all().map(({ name }) => name),
    ['job-2'],
  )
})
