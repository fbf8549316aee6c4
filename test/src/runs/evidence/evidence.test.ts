import t from 'tap'
import { groupByPod } from '../../../../src/runs/evidence/run-evidence.ts'
import type { Sample } from '../../../../src/runs/log/columns.ts'
import { timeByProgram } from '../../../../src/runs/metrics/processor-time.ts'
import { busy, CASES, PODS } from '../findings/cases.ts'
import { evidenceOf, findIn, inShort, LENGTH, podOf, podRows } from '../findings/rows.ts'

t.test('a counter with one sample says nothing, and its rules are not checked', async (t) => {
  const rows = podRows('0', CASES.throttled.changes).filter(({ seconds }) => seconds === 0)
  const { findings, notChecked } = findIn(rows)
  t.strictSame(findings, [])
  const reasonOf = (rule: string) => notChecked.find((one) => one.rule === rule)?.reason
  t.equal(reasonOf('memory-pressure'), 'memory_some of pressure had only one sample')
  t.match(reasonOf('throttled'), /^nr_periods, .* of pressure had only one sample$/)
  t.match(reasonOf('more-work'), /cpu_time of pressure had only one sample$/)
  t.equal(reasonOf('remote-memory'), undefined, 'a gauge needs one sample only')
})

t.test('CPU time before the first sample is not of the run', async (t) => {
  const only = ['container', 'process', 'tcp', 'socket'] as const
  const { changes } = CASES['network-bound']
  const attached = podRows('0', changes, { only }).map((row) =>
    row.section === 'process' ? { ...row, cpu_time: Number(row.cpu_time) + 18_000 } : row,
  )
  const { findings } = findIn(attached)
  t.match(findings, [{ rule: 'network-bound' }])
  t.equal(
    findings[0]?.pods[0]?.facts.find(({ name }) => name === 'CPU time in the samples')?.value,
    24,
  )
})

t.test('a row covers no more than the time since the timepoint before', async (t) => {
  const rows = podRows('0', CASES['network-bound'].changes)
  t.strictSame(inShort(findIn(rows)), ['network-bound 0'])
  // The sockets close, and one is open at the end.
  const isClosed = ({ section, seconds }: Sample) =>
    section === 'socket' && seconds > 10 && seconds < LENGTH
  const closed = rows
    .filter((row) => !isClosed(row))
    .map((row) => {
      const isLast = row.section === 'socket' && row.seconds === LENGTH
      return isLast ? { ...row, interval: LENGTH - 10 } : row
    })
  t.strictSame(inShort(findIn(closed)), [])
})

t.test('a process that executes another program keeps its counters', async (t) => {
  const prepared = podRows('3', busy(1.9)).map((row) => {
    const program = row.seconds <= 60 ? 'prepare' : 'lmp'
    return typeof row.program === 'string' ? { ...row, program } : row
  })
  const only = ({ metric }: Sample) => metric === 'pressure'
  const timesOf = (rows: readonly Sample[]) => {
    const [pod] = groupByPod(evidenceOf(rows.filter(only)), podOf).pods
    return pod === undefined ? {} : Object.fromEntries(timeByProgram(pod))
  }
  t.strictSame(timesOf(prepared), { prepare: 114, lmp: 114 })
  const others = PODS.filter((pod) => pod !== '3').flatMap((pod) => podRows(pod))
  t.strictSame(inShort(findIn([...prepared, ...others].filter(only))), [])
  // A worker that sets its title for each task.
  const titled = podRows('3', busy(1)).map((row) => {
    const program = (row.seconds / 10) % 2 === 0 ? 'idle' : 'task'
    return typeof row.program === 'string' ? { ...row, program } : row
  })
  const times = timesOf(titled)
  t.equal((times.idle ?? 0) + (times.task ?? 0), LENGTH)
})

t.test('containers whose names are not known are not mixed up', async (t) => {
  const rows = podRows('0').flatMap((row) => {
    if (row.section !== 'container') return [row]
    const unnamed = { ...row, container: null }
    return [
      { ...unnamed, memory_some: 50 },
      { ...unnamed, memory_some: 0 },
    ]
  })
  const { findings, notChecked } = findIn(rows)
  t.strictSame(findings, [])
  t.match(notChecked[1], {
    rule: 'memory-pressure',
    reason: 'memory_some of pressure could not be read',
  })
})
