import t from 'tap'
import { describeObservedRanks } from '../../../../src/runs/log/observed-ranks.ts'

t.test('the description counts the ranks, and the ranks of narrower metrics', async (t) => {
  const counts = { workload: 'job/lammps', total: 512, observed: 32 }
  const describe = (metrics: Record<string, number>) =>
    describeObservedRanks({ ...counts, metrics })
  t.equal(describe({ 'perf-sysstat': 32 }), '32 of 512 ranks observed')
  t.equal(
    describe({ 'perf-sysstat': 32, 'io-sysstat': 4, 'cpu-profile': 2 }),
    '32 of 512 ranks observed (cpu-profile: 2, io-sysstat: 4)',
  )
})
