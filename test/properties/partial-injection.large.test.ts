import t from 'tap'
import { checkPartialInjection } from './partial-injection.ts'

t.test('100,000 pods get the metrics that they can get', { timeout: 3_600_000 }, async (t) => {
  const { injected, partial, reasons } = checkPartialInjection(100_000)
  t.ok(partial > 25_000, `${partial} of ${injected} injected pods lack a metric; too few`)
  t.comment(Object.fromEntries(reasons))
})
