import type { Test } from 'tap'
import { PODS } from './cases.ts'
import { findIn, podRows } from './rows.ts'

/** Checks that a rule is listed as not checked only if some pods have its metric. */
export function checkOptional(t: Test, name: string, metric: string): void {
  const without = ['container', 'process', 'placement', 'perf', 'tcp', 'socket'] as const
  const rowsOf = (pod: string) => podRows(pod, {}, { only: without })
  t.strictSame(findIn(PODS.flatMap(rowsOf)).notChecked, [])
  const some = PODS.flatMap((pod) => (pod === '4' ? rowsOf(pod) : podRows(pod)))
  t.match(
    findIn(some).notChecked.filter(({ rule }) => rule === name),
    [{ pods: ['4'], reason: `metric ${metric} was not collected` }],
  )
}
