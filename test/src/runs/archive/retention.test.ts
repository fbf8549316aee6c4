import t from 'tap'
import { selectExpired } from '../../../../src/runs/archive/retention.ts'

const HOUR = 3_600_000

function namesOf(runs: readonly { readonly name: string }[]): readonly string[] {
  return runs.map(({ name }) => name).sort()
}

t.test('runs that ended too long ago, or first of too many, are selected', async (t) => {
  const run = (name: string, ended: number | undefined, namespace = 'hpc') => {
    return { namespace, name, ended: ended === undefined ? undefined : ended * HOUR }
  }
  const runs = [run('a', 1), run('b', 5), run('c', 6), run('on', undefined), run('d', 1, 'ml')]
  const select = (maxAge: number, maxRuns: number) =>
    namesOf(selectExpired(runs, { maxAgeMs: maxAge * HOUR, maxRuns }, 7 * HOUR))
  t.strictSame(select(6, 10), [], 'the age is not greater')
  t.strictSame(select(5, 10), ['a', 'd'])
  t.strictSame(select(100, 3), ['a'], 'the number is that of each namespace')
  t.strictSame(select(100, 1), ['a', 'b', 'c'], 'a run that goes on is kept, and counts')
  const unknown = { maxAgeMs: 0, maxRuns: 3 }
  t.strictSame(namesOf(selectExpired(runs, unknown, undefined)), ['a'], 'the time is not known')
})
