import t from 'tap'
import { busy, CASES, findWith } from '../../findings/cases.ts'
import { findIn, inShort, LENGTH, podRows, type Sections } from '../../findings/rows.ts'

t.test('time with data in the send queue counts only as far as nothing computed', async (t) => {
  const rows = (computing: number) =>
    podRows('0', { ...busy(computing), socket: { send_queue: 1000 } }).map((row) => {
      const isEmpty = row.section === 'socket' && row.seconds > 0.6 * LENGTH
      return isEmpty ? { ...row, send_queue: 0 } : row
    })
  t.strictSame(inShort(findIn(rows(0.05))), ['network-bound 0'])
  // Of 60 % with data in the queue, at least 10 % passed without computing, and at most 50 %.
  t.strictSame(inShort(findIn(rows(0.5))), [])
})

t.test('threads that compute together do not hide the time in which none does', async (t) => {
  const burst = podRows('0', { socket: { send_queue: 1000 } }).map((row) => {
    const seconds = Math.min(row.seconds, 40)
    if (row.metric === 'perf-sysstat') return { ...row, percent_cpu: row.seconds > 40 ? 0 : 800 }
    return row.section === 'process' ? { ...row, cpu_time: 8 * seconds } : row
  })
  const [finding] = findIn(burst).findings
  t.match(finding, { rule: 'network-bound', lost: LENGTH - 40 })
})

t.test('a process that executed another program has the CPU time of both', async (t) => {
  const rows = podRows('0', { ...busy(0.9), socket: { send_queue: 1000 } }).map((row) => {
    const isProcess = row.section === 'process' && typeof row.program === 'string'
    return isProcess && row.seconds < 110 ? { ...row, program: 'sh' } : row
  })
  t.strictSame(inShort(findIn(rows)), [])
})

t.test('the time lost by retransmissions is not known: connections wait at once', async (t) => {
  const { findings } = findWith({ tcp: { retransmitted: 15, timeouts: 20 } })
  t.match(findings, [{ rule: 'retransmissions', lost: null }])
  t.match(findings[0]?.sentence, /again, because they were not acknowledged in time\.$/)
})

t.test('retransmissions do not explain that a pod waits for the network', async (t) => {
  const { socket } = CASES['network-bound'].changes
  const found = findWith({ ...busy(0.2), socket: socket ?? {}, tcp: { retransmitted: 15 } })
  t.strictSame([...inShort(found)].sort(), ['network-bound 3', 'retransmissions 3'])
})

t.test('a pod without sockets is not network-bound, and the rule is checked', async (t) => {
  const reasonsFor = (changes: Sections, only: readonly (keyof Sections)[]) =>
    findIn(podRows('0', changes, { only }))
      .notChecked.filter(({ rule }) => rule === 'network-bound')
      .map(({ reason }) => reason)
  const other = ['perf', 'process', 'tcp'] as const
  t.strictSame(reasonsFor({}, other), [])
  t.strictSame(reasonsFor({ socket: { send_queue: null } }, [...other, 'socket']), [
    'send_queue of network could not be read',
  ])
})
