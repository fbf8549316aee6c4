import t from 'tap'
import type { RunClient } from '../../../../cli/archive/service/run-client.ts'
import { createRunIndex, readIndexed } from '../../../../cli/archive/service/run-index.ts'
import { type SweepOptions, sweepRuns } from '../../../../cli/archive/service/sweep.ts'

/** The object Run of a run that ended at a second of the day. */
function endedRun(second: number): object {
  const ended = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
  return {
    metadata: { namespace: 'hpc', name: `job-${second}` },
    spec: { workload: { apiVersion: 'batch/v1', kind: 'Job', name: 'job', uid: `${second}` } },
    status: { phase: 'Succeeded', ended },
  }
}

t.test('more Runs than a sweep deletes are left to the next sweeps', async (t) => {
  const index = createRunIndex()
  const collection = index.collect()
  const runs = Array.from({ length: 510 }, (_, second) => readIndexed(endedRun(second)))
  for (const run of runs) if (run !== undefined) collection.put(run)
  const client: Pick<RunClient, 'delete'> = {
    async delete(run) {
      collection.remove(run)
    },
  }
  const now = Date.UTC(2026, 1, 1)
  const options = {
    ...{ index, client, rows: undefined, isLive: () => false, clock: { now: () => now } },
    retention: { maxAgeMs: Number.POSITIVE_INFINITY, maxRuns: 10 },
    signal: new AbortController().signal,
  } as unknown as SweepOptions
  const [left, more] = [[] as number[], [] as boolean[]]
  while (left.length < 3) {
    more.push(await sweepRuns(options, now))
    left.push(index.all().length)
  }
  t.strictSame(left, [310, 110, 10])
  t.strictSame(more, [true, true, false])
  t.match(index.all().at(-1), { name: 'job-509' }, 'those that ended last are kept')
})
