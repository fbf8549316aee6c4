import t from 'tap'
import { findMissingPrograms } from '../../observers/prerequisites.ts'
import { compareGuard } from './compare.ts'

const skip = findMissingPrograms(['go']).length > 0 && 'needs Go'

t.test('the guard is right about 100,000 pods', { timeout: 3_600_000, skip }, async (t) => {
  const seed = Date.now() % 2 ** 31
  const { counts, wrong } = compareGuard(t.testdir(), 20_000, seed)
  t.equal(wrong[0], undefined, `seed ${seed}: ${wrong.length} pods with wrong messages`)
  t.comment(Object.fromEntries(counts))
  const pods = [...counts.values()].reduce((sum, count) => sum + count, 0)
  t.ok(pods > 100_000, `${pods} pods`)
})
