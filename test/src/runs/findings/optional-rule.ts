import type { Test } from 'tap'
import { RANKS } from './cases.ts'
import { findIn, rankRows } from './rows.ts'

/** Checks that a rule is listed as not checked only if some ranks have its metric. */
export function checkOptional(t: Test, name: string, metric: string): void {
  const without = ['container', 'process', 'placement', 'perf', 'tcp', 'socket'] as const
  const rowsOf = (rank: string) => rankRows(rank, {}, { only: without })
  t.strictSame(findIn(RANKS.flatMap(rowsOf)).notChecked, [])
  const some = RANKS.flatMap((rank) => (rank === '4' ? rowsOf(rank) : rankRows(rank)))
  t.match(
    findIn(some).notChecked.filter(({ rule }) => rule === name),
    [{ ranks: ['4'], reason: `metric ${metric} was not collected` }],
  )
}
