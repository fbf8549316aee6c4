import t from 'tap'
import { CASES, RANKS } from '../../findings/cases.ts'
import { checkOptional } from '../../findings/optional-rule.ts'
import { findIn, inShort, rankRows, type Sections } from '../../findings/rows.ts'

const { changes } = CASES['more-time-in-function']
const RULE = 'more-time-in-function'

/** Returns the findings of five ranks with a profile: some with changes, others healthy. */
const findWith = (own: Readonly<Record<string, Sections>>) =>
  findIn(RANKS.flatMap((rank) => rankRows(rank, own[rank])))

t.test('the finding names the function with the most additional time', async (t) => {
  const [finding, ...others] = findWith({ 1: changes, 3: changes }).findings
  t.strictSame(others, [])
  t.match(finding, { rule: RULE, lost: null, ranks: [{ rank: '1' }, { rank: '3' }] })
  t.match(finding?.sentence, /^Rank 1 used 80 s more .* in PairLJCut::compute: 160 s, 100 % more/)
  t.match(finding?.sentence, /The same is true of rank 3\.$/)
})

t.test('a function that only one rank uses is named as such', async (t) => {
  const own = { function: { ...changes.function, function: 'spin' } }
  const [finding] = findWith({ 2: own }).findings
  t.match(finding?.sentence, /160 s more .* in spin: 160 s, at least half of the ranks used none/)
})

t.test('ranks with an incomplete profile are not compared, and are listed', async (t) => {
  const own = { ...changes, profile: { profile: 'incomplete' } }
  const found = findWith({ 3: own })
  t.strictSame(inShort(found), [])
  const reason = 'a profile of the rank is incomplete or missing'
  t.match(found.notChecked, [{ rule: RULE, ranks: ['3'], reason }])
})

t.test('without the metric, the rule is not listed; with it for some ranks, it is', async (t) => {
  checkOptional(t, RULE, 'cpu-profile')
})
