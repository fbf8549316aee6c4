import t from 'tap'
import { describeObservedPods } from '../../../../src/runs/log/observed-pods.ts'

t.test('the description counts the pods, and the pods of narrower metrics', async (t) => {
  const counts = { workload: 'job/lammps', total: 512, observed: 32 }
  const describe = (metrics: Record<string, number>) => describeObservedPods({ ...counts, metrics })
  t.equal(describe({ 'perf-sysstat': 32 }), '32 of 512 pods observed')
  t.equal(
    describe({ 'perf-sysstat': 32, 'io-sysstat': 4, 'cpu-profile': 2 }),
    '32 of 512 pods observed (cpu-profile: 2, io-sysstat: 4)',
  )
})
