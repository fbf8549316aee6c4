import t from 'tap'
import { CASES, PODS } from '../../findings/cases.ts'
import { checkOptional } from '../../findings/optional-rule.ts'
import { findIn, podRows, type Sections } from '../../findings/rows.ts'

const { changes } = CASES['waiting-in-python']
const RULE = 'waiting-in-python'

/** Returns the findings of five pods with samples of Python: some with changes, others healthy. */
const findWith = (own: Readonly<Record<string, Sections>>) =>
  findIn(PODS.flatMap((pod) => podRows(pod, own[pod]))).findings

t.test('the finding names the line in which the pod waits', async (t) => {
  const [finding, ...others] = findWith({ 3: changes })
  t.strictSame(others, [])
  t.match(finding, { rule: RULE, lost: null, pods: [{ pod: '3' }] })
  t.match(finding?.sentence, /^Pod 3 waited 30 s longer .* in next_batch \(loader\.py:40\): 70 s/)
})

t.test('a line in which no other pod waits is named', async (t) => {
  const [finding] = findWith({ 2: { line: { ...changes.line, function: 'load (data.py:7)' } } })
  t.match(finding?.sentence, /waited 70 s longer .* in load \(data\.py:7\): 70 s/)
})

t.test('time in which a thread runs, and other threads, are not compared', async (t) => {
  t.strictSame(findWith({ 3: { line: { ...changes.line, self_running: 30 } } }), [])
  t.strictSame(findWith({ 3: { line: { ...changes.line, threads: 'other' } } }), [])
})

t.test('without the metric, the rule is not listed; with it for some pods, it is', async (t) => {
  checkOptional(t, RULE, 'python-profile')
})
