import t from 'tap'
import { CASES, PODS } from '../../findings/cases.ts'
import { checkOptional } from '../../findings/optional-rule.ts'
import { findIn, inShort, podRows, type Sections } from '../../findings/rows.ts'

const { changes } = CASES['more-time-in-function']
const RULE = 'more-time-in-function'

/** Returns the findings of five pods with a profile: some with changes, others healthy. */
const findWith = (own: Readonly<Record<string, Sections>>) =>
  findIn(PODS.flatMap((pod) => podRows(pod, own[pod])))

t.test('the finding names the function with the most additional time', async (t) => {
  const [finding, ...others] = findWith({ 1: changes, 3: changes }).findings
  t.strictSame(others, [])
  t.match(finding, { rule: RULE, lost: null, pods: [{ pod: '1' }, { pod: '3' }] })
  t.match(finding?.sentence, /^Pod 1 used 80 s more .* PairLJCut::compute: 2 min 40 s, 100 % more/)
  t.match(finding?.sentence, /The same is true of pod 3\.$/)
})

t.test('a function that only one pod uses is named as such', async (t) => {
  const own = { function: { ...changes.function, function: 'spin' } }
  const [finding] = findWith({ 2: own }).findings
  t.match(finding?.sentence, /2 min 40 s more .* in spin: 2 min 40 s, at least half of the pods /)
})

t.test('pods with an incomplete profile are not compared, and are listed', async (t) => {
  const own = { ...changes, profile: { profile: 'incomplete' } }
  const found = findWith({ 3: own })
  t.strictSame(inShort(found), [])
  const reason = 'a profile of the pod is incomplete or missing'
  t.match(found.notChecked, [{ rule: RULE, pods: ['3'], reason }])
})

t.test('without the metric, the rule is not listed; with it for some pods, it is', async (t) => {
  checkOptional(t, RULE, 'cpu-profile')
})
