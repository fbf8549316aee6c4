import type { Descriptions } from '../../src/runs/log/descriptions.ts'
import { describeColumn, listColumnNames, type TopColumn } from '../../src/runs/top/columns.ts'
import { UsageError } from '../shared/errors.ts'

/** Checks that a metric measures each of the columns that the user requests. */
export function mustMeasure(names: readonly string[], descriptions: Descriptions): void {
  const known = listColumnNames(descriptions)
  const wrong = names.find((name) => !known.includes(name))
  if (wrong === undefined) return
  throw new UsageError(
    `no metric of the catalog measures a column ${wrong}; the columns are ${known.join(', ')}`,
  )
}

/** Checks that the observed metrics have columns, and that the column to sort by is one of them. */
export function mustHaveColumns(
  columns: readonly TopColumn[],
  undescribed: readonly string[],
  sort: string | undefined,
): void {
  if (columns.length === 0) {
    const metrics = undescribed.join(', ')
    throw new UsageError(`the catalog describes no column of the observed metrics: ${metrics}`)
  }
  if (sort === undefined || sort === 'pod') return
  if (columns.some(({ key }) => key === sort)) return
  const known = columns.map(describeColumn).join(', ')
  throw new UsageError(`there is no column ${sort} to sort by; the columns are pod, ${known}`)
}
