import t from 'tap'
import { createRememberedRun } from '../../../../cli/archive/service/remembered-run.ts'
import { type UpdateOptions, updateRun } from '../../../../cli/archive/service/update-run.ts'
import { readPodFacts } from '../../../../src/runs/facts/pod-facts.ts'

const NOW = Date.UTC(2026, 10, 28)
const DAY_MS = 86_400_000

const rfc3339 = (ms: number) => new Date(ms).toISOString()

/** Updates the Run of a pod that has ended, and returns the result and the calls of its client. */
async function update({ createdAt, endedAt }: Record<'createdAt' | 'endedAt', number>) {
  const terminated = { exitCode: 0, startedAt: rfc3339(endedAt), finishedAt: rfc3339(endedAt) }
  const pod = readPodFacts(
    {
      metadata: {
        ...{ name: 'p', namespace: 'hpc', uid: 'u1', creationTimestamp: rfc3339(createdAt) },
        annotations: { 'ridealong.dev/status': '{"outcome":"injected","metrics":["vitals"]}' },
      },
      spec: { containers: [{ name: 'app' }], initContainers: [{ name: 'vitals' }] },
      status: {
        phase: 'Succeeded',
        containerStatuses: [{ name: 'app', state: { terminated } }],
      },
    },
    new Set(['vitals']),
  )
  const run = createRememberedRun({ key: 'k', namespace: 'hpc', name: 'p-u1', title: 'x' })
  const calls: string[] = []
  const options = {
    client: {
      create: async () => calls.push('create'),
      writeStatus: async () => calls.push('write'),
    },
    controllers: {
      in: () => ({ above: () => [], forbidden: [] }),
      refresh: async () => {},
    },
    ...{ index: { find: () => undefined, of: () => [] }, clock: { now: () => NOW } },
    retention: { maxAgeMs: 30 * DAY_MS, maxRuns: 500 },
  } as unknown as UpdateOptions
  return { updated: await updateRun(run, [pod], options, NOW), calls }
}

t.test('a run that ended too long ago gets no Run', async (t) => {
  const old = NOW - 31 * DAY_MS
  const { updated, calls } = await update({ createdAt: old - 60_000, endedAt: old })
  t.equal(updated, 'dropped')
  t.strictSame(calls, [])
})

t.test('a run on a node whose clock is a month behind gets its Run', async (t) => {
  const { updated, calls } = await update({ createdAt: NOW - 60_000, endedAt: NOW - 31 * DAY_MS })
  t.equal(updated, 'over')
  t.strictSame(calls, ['create', 'write'])
})
