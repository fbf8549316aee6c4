import t from 'tap'
import { checkPartialInjection } from './partial-injection.ts'
import { checkPartialUndo } from './partial-undo.ts'

const PODS = 100_000
const timeout = 3_600_000

t.test('100,000 pods get the metrics that they can get', { timeout }, async (t) => {
  const { injected, partial, reasons } = checkPartialInjection(PODS)
  t.ok(partial > PODS / 4, `${partial} of ${injected} injected pods lack a metric; too few`)
  t.comment(Object.fromEntries(reasons))
})

t.test('undo restores 100,000 manifests, byte for byte', { timeout }, async (t) => {
  const count = checkPartialUndo(PODS)
  t.ok(count > PODS / 8, `${count} manifests lack metrics; too few`)
})
