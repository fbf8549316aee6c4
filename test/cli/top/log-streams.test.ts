import t from 'tap'
import { followStream, newStream } from '../../../cli/top/log-streams.ts'
import { createOpeningGate } from '../../../cli/top/opening-gate.ts'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import type { RunningObserver } from '../../../src/runs/collect/observers.ts'

const OBSERVER = {
  namespace: 'hpc',
  pod: 'lammps-0',
  container: 'pressure',
  state: 'running',
} as RunningObserver

t.test('a failed attempt does not cause a list of the pods', async (t) => {
  const stop = new AbortController()
  let attempts = 0
  const apiserver = {
    open: async () => {
      attempts += 1
      if (attempts === 2) stop.abort()
      throw new Error('the node is down')
    },
  } as unknown as Apiserver
  let ends = 0
  const stream = newStream(
    OBSERVER,
    { format: 'jsonl', sections: [] },
    {
      sections: new Set(),
      logs: 1,
    },
  )
  const options = { apiserver, gate: createOpeningGate(), signal: stop.signal }
  await followStream(stream, options, () => {
    ends += 1
  })
  t.equal(attempts, 2)
  t.equal(stream.problem, 'the node is down')
  t.equal(ends, 0)
})
