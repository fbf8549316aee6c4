import t from 'tap'
import { type PodSelector, parsePods } from '../../../../src/core/text/pod-selector.ts'

function selectorOf(expression: string): PodSelector {
  const parsed = parsePods(expression)
  if (parsed === undefined || 'problem' in parsed) throw new Error(`${expression} is not valid`)
  return parsed
}

t.test('an expression consists of indexes, ranges, every:N and names', async (t) => {
  t.strictSame(selectorOf(' 8, 0-3 ,every:16,,launcher, worker-3,8 '), {
    text: '8,0-3,every:16,launcher,worker-3,8',
    ranges: [
      { first: 8, last: 8 },
      { first: 0, last: 3 },
      { first: 8, last: 8 },
    ],
    steps: [16],
    names: new Set(['launcher', 'worker-3']),
  })
})

t.test('names may have the form of any label value that contains a letter', async (t) => {
  for (const name of [
    'Worker',
    'a',
    'small.group',
    'my_task',
    '2nd',
    'every',
    `a${'b'.repeat(62)}`,
  ])
    t.strictSame([...selectorOf(name).names], [name])
})

t.test('an expression without terms selects every pod', async (t) => {
  for (const expression of ['', ' ', ',', ' , ,']) t.equal(parsePods(expression), undefined)
})

t.test('of an invalid expression, the problem names the term and the valid forms', async (t) => {
  const wrong = ['3-0', '1-2-3', '-1', 'every:0', 'every:', 'every:x', '1.5', 'a b', 'worker:3']
  const long = ['1234567890', '0-1234567890', 'every:1234567890', `a${'b'.repeat(63)}`, 'é', '-a']
  for (const term of [...wrong, ...long]) {
    const { problem } = parsePods(`0,${term},1`) as { problem: string }
    t.match(
      problem,
      /^".*" is not a pod index such as 3, a range such as 0-3, every:N with N from 1, /,
    )
  }
  t.same(parsePods('0,3-0'), {
    problem:
      '"3-0" is not a pod index such as 3, a range such as 0-3, every:N with N from 1, or the ' +
      'name of a role such as worker',
  })
})

t.test('the length and the number of terms are bounded', async (t) => {
  t.equal(selectorOf(Array(64).fill('1').join(',')).ranges.length, 64)
  t.same(parsePods(Array(65).fill('1').join(',')), {
    problem: 'the value has 65 terms; at most 64 are allowed',
  })
  t.ok(selectorOf(`3${' '.repeat(511)}`))
  t.same(parsePods(','.repeat(513)), {
    problem: 'the value has 513 characters; at most 512 are allowed',
  })
})
