import t from 'tap'
import { CASES, PODS } from '../../findings/cases.ts'
import { checkOptional } from '../../findings/optional-rule.ts'
import { findIn, podRows, type Sections } from '../../findings/rows.ts'

const { changes } = CASES['all-wait-for-one']
const RULE = 'all-wait-for-one'

/** Returns the findings of pods with samples of Python: some with changes, others healthy. */
const findWith = (own: Readonly<Record<string, Sections>>, pods: readonly string[] = PODS) =>
  findIn(pods.flatMap((pod) => podRows(pod, own[pod]))).findings

t.test(
  'the finding names the line in which the others wait, and that of the late pod',
  async (t) => {
    const [finding, ...others] = findWith({ 3: changes })
    t.strictSame(others, [])
    t.match(finding, {
      rule: RULE,
      lost: null,
      pods: [{ pod: '3', things: ['augment (data.py:80)'] }],
    })
    t.match(
      finding?.sentence,
      /they waited at least 40 s in next_batch \(loader\.py:40\), and it waited 0 s there\. It ran 40 s longer than their median, most of it in augment \(data\.py:80\)\.$/,
    )
  },
)

t.test('of two pods, neither is called late; nor are two of five', async (t) => {
  t.match(findWith({ 2: changes }, ['1', '2', '3']), [{ rule: RULE, pods: [{ pod: '2' }] }])
  t.strictSame(findWith({ 2: changes }, ['1', '2']), [])
  t.strictSame(
    findWith({ 2: changes, 3: changes }).filter(({ rule }) => rule === RULE),
    [],
  )
})

t.test('a pod that neither waits there nor runs is not called late', async (t) => {
  const idle = { line: { ...changes.line, self_running: 19, total_running: 19 } }
  t.strictSame(
    findWith({ 3: idle }).filter(({ rule }) => rule === RULE),
    [],
  )
})

t.test('without the metric, the rule is not listed; with it for some pods, it is', async (t) => {
  checkOptional(t, RULE, 'python-profile')
})
