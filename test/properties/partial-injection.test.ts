import t from 'tap'
import { checkPartialInjection } from './partial-injection.ts'
import { checkPartialUndo } from './partial-undo.ts'

t.test('a pod gets the metrics that it can get, and nothing else is touched', async (t) => {
  const { injected: count, partial, reasons } = checkPartialInjection(2_000)
  t.ok(partial > 400, `${partial} of ${count} injected pods lack a metric; too few`)
  for (const reason of ['limit-range', 'quota', 'variable-taken', 'path-taken', 'name-taken'])
    t.ok((reasons.get(reason) ?? 0) > 0, `${reasons.get(reason)} pods lack a metric for ${reason}`)
})

t.test('undo restores a manifest that lacks metrics, byte for byte', async (t) => {
  const count = checkPartialUndo(300)
  t.ok(count > 40, `${count} manifests lack metrics; too few`)
})
