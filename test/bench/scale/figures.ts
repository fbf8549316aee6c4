/** A measured value, and the work that it stands for. */
export interface Figure {
  readonly name: string
  readonly value: number
  /**
   * The amount of work that the value stands for, for example the number of pods that a scan has
   * listed; 1 if the value must not depend on the size of the cluster.
   */
  readonly work: number
  /** Differences up to this value are noise. */
  readonly noise?: number
  /** The largest value that is acceptable in any cluster. */
  readonly most?: number
  /** Whether the value depends on Ridealong. Other values are only shown. */
  readonly isOurs: boolean
}

/** A figure of two measurements. */
export interface Row {
  readonly name: string
  readonly small: number
  readonly large: number
  /** How many times as much work the larger measurement had, and how many times as large it is. */
  readonly work: number
  readonly growth: number
  /** The problem of the figure; undefined if it has no problem. */
  readonly problem: string | undefined
}

/**
 * A figure grows faster than its work if it is larger than the work explains by this factor. Two
 * measurements of the same size differ by less.
 */
const TOLERANCE = 1.25

/** Compares the figures of a small and a large measurement. */
export function compareFigures(small: readonly Figure[], large: readonly Figure[]): readonly Row[] {
  return large.map((figure) => {
    const before = small.find(({ name }) => name === figure.name)
    if (before === undefined) throw new Error(`the small measurement has no ${figure.name}`)
    const work = figure.work / before.work
    const { name, value, isOurs } = figure
    const growth = value === before.value ? 1 : value / before.value
    const problem = isOurs ? problemOf(figure, before.value * work) : undefined
    return { name, small: before.value, large: value, work, growth, problem }
  })
}

/** @param expected the value that the work explains */
function problemOf({ value, most, noise = 0 }: Figure, expected: number): string | undefined {
  if (!Number.isFinite(value)) return 'not measured'
  if (most !== undefined && value > most) return `more than ${most}`
  const isFaster = value > expected * TOLERANCE && value - expected > noise
  return isFaster && most !== 0 ? 'grows faster than its work' : undefined
}

const HEADS = ['figure', 'small', 'large', 'work', 'growth', ''] as const

/** Renders rows as a table of text. */
export function renderRows(rows: readonly Row[]): string {
  const cells = rows.map(({ name, small, large, work, growth, problem = '' }) => {
    return [name, short(small), short(large), `x${short(work)}`, `x${short(growth)}`, problem]
  })
  const table: readonly (readonly string[])[] = [HEADS, ...cells]
  const widths = HEADS.map((_, place) => Math.max(...table.map((row) => row[place]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row.map((cell, place) => {
      const width = widths[place] ?? 0
      return place === 0 || place === HEADS.length - 1 ? cell.padEnd(width) : cell.padStart(width)
    })
  return table.map((row) => line(row).join('  ').trimEnd()).join('\n')
}

/** Returns a number with about three digits. */
function short(value: number): string {
  if (!Number.isFinite(value)) return '-'
  if (Math.abs(value) >= 100) return value.toFixed(0)
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2)
}
