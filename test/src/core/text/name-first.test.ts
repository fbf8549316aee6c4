import t from 'tap'
import { nameFirst } from '../../../../src/core/text/name-first.ts'

t.test('only the first names are listed, and the others are counted', async (t) => {
  t.equal(nameFirst(['a', 'b', 'c']), 'a, b, c')
  t.equal(nameFirst(['a', 'b', 'c', 'd', 'e']), 'a, b, c and 2 more')
  t.equal(nameFirst(['a', 'b'], 1), 'a and 1 more')
  t.equal(nameFirst([]), '')
})
