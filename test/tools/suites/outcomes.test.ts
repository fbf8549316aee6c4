import t from 'tap'
import { compareOutcomes } from './outcomes.ts'

const outcomes = (...pairs: readonly (readonly [string, string])[]) => new Map(pairs)

t.test('an outcome differs if no run without the tool had it', async (t) => {
  const plain = [outcomes(['a', 'passed'], ['b', 'passed'], ['c', 'error'])]
  const recorded = outcomes(['a', 'passed'], ['b', 'failure'], ['d', 'passed'])
  t.strictSame(compareOutcomes(plain, recorded), {
    equal: 1,
    varies: [],
    differs: ['b (passed, now failure)', 'c (error, now none)', 'd (none, now passed)'],
  })
})

t.test('a test with several outcomes without the tool varies by itself', async (t) => {
  const plain = [outcomes(['a', 'passed']), outcomes(['a', 'failure'])]
  const varies = ['a (passed or failure)']
  for (const own of ['passed', 'failure'])
    t.strictSame(compareOutcomes(plain, outcomes(['a', own])), { equal: 0, varies, differs: [] })
  const differs = ['a (passed or failure, now error)']
  t.strictSame(compareOutcomes(plain, outcomes(['a', 'error'])), { equal: 0, varies: [], differs })
})
