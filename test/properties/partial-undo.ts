/** Rules about manifests that get some of the metrics that they request. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { injected, TOOLS, textOf, undone } from '../src/pods/manifest/build.ts'
import { manifestsWith } from './arbitrary-yaml.ts'

/** Manifests that request metrics which their namespace, or the catalog, does not have. */
const partial = manifestsWith(
  'perf-sysstat,mpi-trace',
  'mpi-trace,cpu-profile,io-sysstat',
  `nobody,perf-sysstat,${'x'.repeat(200)}`,
)

/**
 * Checks on `numRuns` manifests that a second inject changes nothing, and that undo restores the
 * text, byte for byte.
 *
 * @returns the number of manifests that lack metrics
 */
export function checkPartialUndo(numRuns: number): number {
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
    { numRuns },
  )
  return count
}
