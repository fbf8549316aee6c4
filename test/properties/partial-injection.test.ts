import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { injected, TOOLS, textOf, undone } from '../src/pods/manifest/build.ts'
import { manifestsWith } from './arbitrary-yaml.ts'
import { checkPartialInjection } from './partial-injection.ts'

t.test('a pod gets the metrics that it can get, and nothing else is touched', async (t) => {
  const { injected: count, partial, reasons } = checkPartialInjection(2_000)
  t.ok(partial > 400, `${partial} of ${count} injected pods lack a metric; too few`)
  for (const reason of ['limit-range', 'quota', 'variable-taken', 'path-taken', 'name-taken'])
    t.ok((reasons.get(reason) ?? 0) > 0, `${reasons.get(reason)} pods lack a metric for ${reason}`)
})

/** Manifests that request metrics which their namespace, or the catalog, does not have. */
const partial = manifestsWith(
  'perf-sysstat,mpi-trace',
  'mpi-trace,cpu-profile,io-sysstat',
  `nobody,perf-sysstat,${'x'.repeat(200)}`,
)

t.test('undo restores a manifest that lacks metrics, byte for byte', async (t) => {
  let count = 0
  fc.assert(
    fc.property(partial, ({ text }) => {
      const once = injected(text, {}, { catalog: TOOLS, allowsTools: false })
      const [decision] = once.flatMap(({ outcomes }) => outcomes.map((one) => one.decision))
      if (decision?.outcome === 'injected' && decision.left.length > 0) count += 1
      const twice = injected(textOf(once), {}, { catalog: TOOLS, allowsTools: false })
      assert.equal(textOf(twice), textOf(once))
      assert.equal(undone(textOf(once)), text)
    }),
    { numRuns: 300 },
  )
  t.ok(count > 40, `${count} manifests lack metrics; too few`)
})
