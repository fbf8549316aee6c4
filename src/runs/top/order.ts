import type { TopColumn } from './columns.ts'
import type { TopLine } from './pods.ts'

/** How the lines are chosen and sorted. */
export interface LineOrder {
  /** The key of the column to sort by; undefined for the order of the pods. */
  readonly sort: string | undefined
  /** Whether the smallest value is first, or in the order of the pods the last pod. */
  readonly isReversed: boolean
  /** The text that lines contain, in upper or lower case; empty for all lines. */
  readonly filter: string
}

/** Returns the text of a line that the filter is compared with, in lower case. */
function wordsOf({ label, pod, node, program }: TopLine): string {
  return [label, pod, node ?? '', program ?? ''].join(' ').toLowerCase()
}

/**
 * Returns the lines that match the filter, sorted by a column: the greatest value first, and lines
 * without a value last. Lines with the same value are in the order of their pods.
 *
 * @param lines the lines in the order of their pods
 */
export function orderLines(
  lines: readonly TopLine[],
  columns: readonly TopColumn[],
  { sort, isReversed, filter }: LineOrder,
): readonly TopLine[] {
  const text = filter.toLowerCase()
  const chosen = text === '' ? [...lines] : lines.filter((line) => wordsOf(line).includes(text))
  const at = columns.findIndex(({ key }) => key === sort)
  const sign = isReversed ? -1 : 1
  if (at < 0) return isReversed ? chosen.reverse() : chosen
  return chosen.sort((a, b) => {
    const [one, other] = [a.values[at] ?? null, b.values[at] ?? null]
    if (one === null || other === null) return Number(one === null) - Number(other === null)
    return sign * (other - one)
  })
}
