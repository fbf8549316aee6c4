import type { Catalog, RowColumn, RowSection, RowsDescription } from '../../core/catalog.ts'

/** The descriptions of the rows that logs contain, by the name of the metric. */
export type Descriptions = ReadonlyMap<string, RowsDescription>

/** Returns the descriptions of a catalog's metrics, in the order of the catalog. */
export function descriptionsIn({ metrics }: Catalog): Descriptions {
  return new Map(
    [...metrics.values()].flatMap(({ name, rows }) => {
      return rows === undefined ? [] : [[name, rows] as const]
    }),
  )
}

/**
 * The metrics of the Metrics Operator whose logs are not in JSON Lines, by their format. If a log
 * in such a format names no metric, it is a log of the metric listed here. The CSV has the columns
 * of these metrics in this order.
 */
export const METRIC_OF_FORMAT = { pidstat: 'perf-sysstat', iostat: 'io-sysstat' } as const

/**
 * Reports whether the rows of a metric are about the interval before them, as those of pidstat and
 * iostat are: their numbers are rates and states, and none is a counter. A row without an interval
 * is an average since the node started.
 */
export function coversIntervals({ format }: Pick<RowsDescription, 'format'>): boolean {
  return format !== 'jsonl'
}

/** Returns the columns of processes or devices in rows that are about intervals, each name once. */
export function listIntervalColumns(
  descriptions: Descriptions,
  of: 'process' | 'device',
): readonly RowColumn[] {
  const columns = [...descriptions.values()]
    .filter(coversIntervals)
    .flatMap(({ sections }) => sections.flatMap((one) => (one.of === of ? one.columns : [])))
  const first = (name: string) => columns.findIndex((column) => column.name === name)
  return columns.filter(({ name }, index) => first(name) === index)
}

/** A format that is not JSON Lines. */
export type SysstatFormat = keyof typeof METRIC_OF_FORMAT

/**
 * Returns the section that describes the rows of a log in a format of sysstat: the section of the
 * log's metric if the description of this metric has the format, otherwise the section of the
 * metric in METRIC_OF_FORMAT.
 */
export function sysstatSection(
  descriptions: Descriptions,
  format: SysstatFormat,
  metric: string | null,
): RowSection | undefined {
  const own = descriptions.get(metric ?? '')
  const known = own?.format === format ? own : descriptions.get(METRIC_OF_FORMAT[format])
  return known?.sections[0]
}
