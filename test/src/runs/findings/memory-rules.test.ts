import t from 'tap'
import type { Sample } from '../../../../src/runs/log/columns.ts'
import { findWith } from './cases.ts'
import { endOf, findIn, inShort, LENGTH, podRows } from './rows.ts'

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
  const rows = podRows('0', remote(0.21), { others: [remote(0.95)] })
  const [finding] = findIn(rows).findings
  t.match(finding?.sentence, /^Pod 0 has 95 % of the memory of lmp \(PID 101\) on NUMA nodes/)
  t.match(finding?.sentence, / The same is true to a lesser extent of lmp \(PID 100\)\.$/)
})

t.test('the limit is the reason for a kill only if it was reached', async (t) => {
  const sentenceWith = (cells: object) =>
    findWith({ container: { oom_kill: 1 / 60, ...cells } }).findings[0]?.sentence
  const killed = 'Pod 3 had 2 of its processes in container app killed by the kernel, because '
  t.equal(sentenceWith({ oom: 1 / 60 }), `${killed}the container reached its memory limit.`)
  t.match(sentenceWith({ oom: 0 }), /because the node or the whole pod ran out of memory/)
  t.match(sentenceWith({ unlimited: 'memory', memory_limit: null }), /because the node or the/)
  // Nodes with cgroup version 1 have only the second of these counters.
  t.match(
    sentenceWith({ oom: null, memory_max: 5 }),
    /because the container reached its memory limit\.$/,
  )
  t.match(sentenceWith({ oom: null, memory_max: null }), /because memory ran out\.$/)
})

t.test('kills for several reasons are several findings', async (t) => {
  const killed = { oom_kill: 1 / 60, oom: 1 / 60 }
  const rows = [
    ...podRows('0', { container: killed }),
    ...podRows('1', { container: { ...killed, unlimited: 'memory', memory_limit: null } }),
    ...podRows('2', { container: killed }),
  ]
  t.strictSame(inShort(findIn(rows)), ['oom-killed 0, 2', 'oom-killed 1'])
})

t.test('a container that was killed at once is found in the status of its pod', async (t) => {
  const rows = [...podRows('0'), ...podRows('1')]
  const ended = (reason: string) => (pod: string) =>
    pod === '1' ? [endOf({ reason, exitCode: 137 })] : []
  const { findings, notChecked } = findIn(rows, ended('OOMKilled'))
  t.match(findings, [{ rule: 'oom-killed', pods: [{ pod: '1', things: ['container app'] }] }])
  t.equal(
    findings[0]?.sentence,
    'Pod 1 had container app killed by the kernel, because memory ran out.',
  )
  t.strictSame(notChecked, [])
  t.strictSame(inShort(findIn(rows, ended('Error'))), ['container-failed 1'])
  // The rows show the same, with the reason.
  const both = podRows('1', { container: { oom_kill: 1 / 120, oom: 1 / 120 } })
  const [one, ...others] = findIn(both, ended('OOMKilled')).findings
  t.match(one?.sentence, /reached its memory limit\.$/)
  t.strictSame(others, [])
  // Without rows of pressure, only the kills that did not end the container are not known.
  const perf = findIn(podRows('1', {}, { only: ['perf'] }), ended('OOMKilled'))
  t.match(perf.findings[0], { rule: 'oom-killed' })
})

t.test('without the status of the pod, the end of a container is unknown', async (t) => {
  const reasonIn = (rows: readonly Sample[]) =>
    findIn(rows, () => null).notChecked.find(({ rule }) => rule === 'oom-killed')?.reason
  t.match(reasonIn(podRows('0')), /^the container may have ended after the last sample/)
  t.equal(reasonIn(podRows('0', { container: { oom_kill: 1 } })), undefined)
})
