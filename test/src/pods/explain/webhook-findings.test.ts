import { readFileSync } from 'node:fs'
import t from 'tap'
import { unmetIn } from '../../../../src/pods/explain/selector.ts'
import { POD_ASKS, readMatchConditions } from '../../../../src/pods/explain/webhook-findings.ts'

const CHART = new URL(
  '../../../../charts/ridealong/templates/webhook-configuration.yaml',
  import.meta.url,
)

t.test('the expression POD_ASKS is equal to the expression in the chart', async (t) => {
  const [, defined] =
    /define "ridealong\.podAsks" -}}\n(.*)\n/.exec(readFileSync(CHART, 'utf8')) ?? []
  t.equal(POD_ASKS, defined)
})

t.test('match conditions are true if all are, false if one is, otherwise unknown', async (t) => {
  const of = (...expressions: string[]) => ({
    matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
  })
  t.strictSame(readMatchConditions(of(POD_ASKS), true), { holds: true, names: 'c0' })
  t.equal(readMatchConditions(of(POD_ASKS), false).holds, false)
  t.equal(readMatchConditions(of(`!(${POD_ASKS})`), false).holds, true)
  t.equal(readMatchConditions(of(POD_ASKS, 'true'), true).holds, undefined)
  t.equal(readMatchConditions(of('true', POD_ASKS), false).holds, false)
  t.equal(readMatchConditions({}, true).holds, true)
})

t.test('the first requirement of a selector that is not met is named', async (t) => {
  const unmet = (selector: unknown) => unmetIn(selector, { a: '1', b: '2' })?.text
  const by = (operator: string, key: string, ...values: string[]) => ({
    matchExpressions: [{ key, operator, values }],
  })
  t.equal(unmet(undefined), undefined)
  t.equal(unmet({ matchLabels: { a: '1' } }), undefined)
  t.equal(unmet({ matchLabels: { a: '2' } }), 'a=2')
  t.equal(unmet(by('In', 'a', '1', '3')), undefined)
  t.equal(unmet(by('In', 'c', '1')), 'c In (1)')
  t.equal(unmet(by('NotIn', 'c', '1')), undefined)
  t.equal(unmet(by('NotIn', 'a', '1')), 'a NotIn (1)')
  t.equal(unmet(by('Exists', 'c')), 'c Exists')
  t.equal(unmet(by('Exists', 'a')), undefined)
  t.equal(unmet(by('DoesNotExist', 'a')), 'a DoesNotExist')
  t.equal(unmet(by('DoesNotExist', 'toString')), undefined)
})
