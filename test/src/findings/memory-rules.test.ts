import t from 'tap'
import { findWith } from './cases.ts'
import { findIn, LENGTH, rankRows } from './rows.ts'

t.test('memory pressure costs the time in which all processes waited', async (t) => {
  const one = findWith({ container: { memory_some: 0.2, memory_full: 0 } })
  t.match(one.findings, [{ rule: 'memory-pressure', lost: null }])
  t.match(one.findings[0]?.sentence, /had a process waiting for memory for 20 % .* first\.$/)
  const all = findWith({ container: { memory_some: 0.2, memory_full: 0.18 } })
  t.match(all.findings, [{ rule: 'memory-pressure', lost: 0.18 * LENGTH }])
})

t.test('no finding says that 0 s were lost', async (t) => {
  const { findings } = findWith({ process: { majflt: 150 }, container: { io_full: 0 } })
  t.match(findings, [{ rule: 'swapping', lost: null }])
  t.notMatch(findings[0]?.sentence, 'It lost')
})

t.test('of several processes with remote memory, the worst has the numbers', async (t) => {
  const remote = (part: number) => ({
    placement: { numa: '0:1000000', numa_remote: 1_000_000 * part },
  })
  const rows = rankRows('0', remote(0.21), { others: [remote(0.95)] })
  const [finding] = findIn(rows).findings
  t.match(finding?.sentence, /^Rank 0 has 95 % of the memory of lmp 101 on NUMA nodes/)
  t.match(finding?.sentence, / Less of the same is true of lmp 100\.$/)
})
