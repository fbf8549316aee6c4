import t from 'tap'
import { busy, CASES, PODS } from './cases.ts'
import { findIn, inShort, LENGTH, podRows } from './rows.ts'

/** Pods of which pod 1 computes nearly always and the others hardly, as if they waited for it. */
const UNEVEN = PODS.flatMap((pod) => podRows(pod, busy(pod === '1' ? 0.95 : 0.05)))

t.test('time is lost to more work if the other pods were idle at the same time', async (t) => {
  const [finding] = findIn(UNEVEN).findings
  t.match(finding, { rule: 'more-work', lost: 0.9 * LENGTH })
  t.match(finding?.sentence, /, 6 s; meanwhile, the others were idle for 114 s\. It lost 108 s\.$/)
})

t.test('but not if they ran at other times, or computed all the time', async (t) => {
  // The pods of a Job with parallelism 1.
  const inTurn = UNEVEN.map((row) => {
    const delay = Number(row.pod_index) * 200_000
    return { ...row, time: new Date(Date.parse(row.time ?? '') + delay).toISOString() }
  })
  for (const rows of [
    inTurn,
    PODS.flatMap((pod) => podRows(pod, busy(pod === '1' ? 1.9 : 0.95))),
  ]) {
    const [finding] = findIn(rows).findings
    t.match(finding, { rule: 'more-work', lost: null })
    t.match(finding?.sentence, /more than the median of the pods, [\d.]+ s\.$/)
  }
})

t.test('a pod that was held up is not compared, and the page says so', async (t) => {
  const { throttled } = CASES
  const rows = PODS.flatMap((pod) => podRows(pod, pod === '0' ? throttled.changes : {}))
  const [one] = findIn(rows).notChecked
  t.match(one, { rule: 'more-work', pods: ['0'], reason: /another finding says/ })
  const all = PODS.flatMap((pod) => podRows(pod, pod === '4' ? {} : throttled.changes))
  t.match(findIn(all).notChecked, [{ rule: 'more-work', pods: null, reason: /fewer than three/ }])
})

t.test('a pod that was held up for a moment is compared', async (t) => {
  const short = { nr_periods: 10, nr_throttled: 3, throttled: 0.05 }
  const rows = PODS.flatMap((pod) => {
    const { container, process, perf } = busy(pod === '3' ? 0.95 : 0.45)
    return podRows(pod, { container: { ...container, ...short }, process, perf })
  })
  const found = findIn(rows)
  t.strictSame([...inShort(found)].sort(), ['more-work 3', 'throttled 0, 1, 2, 3, 4'])
  t.strictSame(found.notChecked, [])
})

t.test('an idle pod may compute elsewhere: it is a risk, and no time is lost', async (t) => {
  const only = ['container', 'process', 'perf'] as const
  const [finding] = findIn(podRows('0', busy(0.05), { only })).findings
  t.match(finding, { rule: 'mostly-idle', severity: 'risk', lost: null })
  t.match(finding?.sentence, /^Pod 0 used 5 % of one processor .* the rows do not show why\.$/)
  t.match(finding?.advice, /GPU/)
})

t.test('of an idle pod, the line of Python in which it waits is named', async (t) => {
  const line = { function: 'load (data.py:7)', self_wall: 100, self_running: 2 }
  const [finding] = findIn(podRows('0', { ...busy(0.02), line })).findings
  t.match(finding, { rule: 'mostly-idle', lost: null, pods: [{ cause: 'load (data.py:7)' }] })
  const waits = /^Pod 0 used 2 % of one processor on average; Python waited longest in load /
  t.match(finding?.sentence, waits)
  t.match(finding?.sentence, / \(data\.py:7\): 98 s\.$/)
})

t.test('a line in which an idle pod hardly waits is not named', async (t) => {
  const line = { self_wall: 10, self_running: 0 }
  const [finding] = findIn(podRows('0', { ...busy(0.02), line })).findings
  t.match(finding?.sentence, /the rows do not show why\.$/)
})
