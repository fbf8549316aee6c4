import t from 'tap'
import { largestFirst, nameGroups } from '../../../../src/runs/waiting/named-groups.ts'

const WORDS = ['a', 'bb', 'cc', 'ddd', 'eeee', 'ffff', 'gggg']
const groups = Map.groupBy(WORDS, ({ length }) => length)

t.test('three groups are named, and the members of the others are counted', async (t) => {
  const describe = (first: string, all: readonly string[], index: number) =>
    `${index} ${first} of ${all.length}`
  const texts = ['0 a of 1', '1 bb of 2', '2 ddd of 1']
  t.strictSame(nameGroups(groups, describe), { texts, others: 3 })
  const largest = nameGroups(largestFirst(groups), (first) => first)
  t.strictSame(largest, { texts: ['eeee', 'bb', 'a'], others: 1 })
  t.strictSame(nameGroups(new Map(), describe), { texts: [], others: 0 })
})
