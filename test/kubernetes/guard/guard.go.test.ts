import t from 'tap'
import { compareGuard } from './compare.ts'

const REVIEWS = 300

t.test('the guard warns about each missed and altered pod, and about no other', async (t) => {
  const seed = Date.now() % 2 ** 31
  const { counts, wrong } = compareGuard(t.testdir(), REVIEWS, seed)
  t.equal(wrong[0], undefined, `seed ${seed}: ${wrong.length} pods with wrong messages`)
  for (const what of ['injected', 'not answered', 'is missing', 'has no volume'])
    t.ok((counts.get(what) ?? 0) > REVIEWS / 20, `${counts.get(what)} pods: ${what}`)
})
