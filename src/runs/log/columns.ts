import type { RowColumn, RowSection } from '../../core/catalog.ts'
import { type Descriptions, METRIC_OF_FORMAT } from './descriptions.ts'

/** The type of a column, and its meaning with the unit, for readers and for the documentation. */
export type Column = Pick<RowColumn, 'type' | 'meaning'>

const text = (meaning: string) => ({ type: 'text', meaning }) as const
const number = (meaning: string) => ({ type: 'number', meaning }) as const

/** The columns of every sample, for the place and the time of the sample. */
export const PLACE_COLUMNS = {
  kind: text(
    'the thing that the row describes: process, thread, container, device, interface, pod, ' +
      'function or stack',
  ),
  source: text('the log: NAMESPACE/POD/CONTAINER, or the name of a file'),
  metric: text('the name of the metric'),
  namespace: text('the namespace of the pod'),
  pod: text('the pod'),
  node: text('the node of the pod'),
  pod_index: text('the pod in its workload: its index, its role, or both'),
  timepoint: number('the number of the sample in its log, from 0'),
  time: text('when the sample was taken: UTC, or only the time of day if the log has no date'),
  seconds: number('seconds since the first timepoint of the log'),
  interval: number(
    'the length of time that the sample covers, in seconds; ' +
      'empty for averages since the node started, and where it is not known',
  ),
} as const satisfies Record<string, Column>

/** The column `section`. In the CSV, it follows the columns of perf-sysstat and io-sysstat. */
export const SECTION_COLUMN = text('the section of the metric to which the row belongs')

/**
 * Returns all columns in the order of the CSV: the columns of the place and the time, the columns
 * of perf-sysstat and io-sysstat, the section, and the columns of the other metrics in the order of
 * the catalog. Columns with the same name in several metrics are one column.
 */
export function listColumns(descriptions: Descriptions): ReadonlyMap<string, Column> {
  const first: readonly string[] = Object.values(METRIC_OF_FORMAT)
  const others = [...descriptions.keys()].filter((metric) => !first.includes(metric))
  const described = (metrics: readonly string[]) =>
    metrics
      .flatMap((metric) => descriptions.get(metric)?.sections ?? [])
      .flatMap(({ columns }) => columns.map((column) => [column.name, column] as const))
  const columns = new Map<string, Column>()
  for (const [name, column] of [
    ...Object.entries(PLACE_COLUMNS),
    ...described(first),
    ['section', SECTION_COLUMN] as const,
    ...described(others),
  ])
    if (!columns.has(name)) columns.set(name, column)
  return columns
}

/** The value of a cell. Null means that the value is unknown or does not exist, never zero. */
export type Cell = string | number | null

type Cells<Columns extends Record<string, Column>> = {
  readonly [Name in keyof Columns]: Columns[Name]['type'] extends 'number'
    ? number | null
    : string | null
}

/** The origin of a log; unknown fields are null. */
export type RowOrigin = Omit<Cells<typeof PLACE_COLUMNS>, 'kind' | keyof Moment>

/** Returns the origin of a row or a log, without its other fields. */
export function originOf({
  source,
  metric,
  namespace,
  pod,
  node,
  pod_index,
}: RowOrigin): RowOrigin {
  return { source, metric, namespace, pod, node, pod_index }
}

/** The number and the time of a timepoint. */
export interface Moment {
  readonly timepoint: number
  readonly time: string | null
  readonly seconds: number
  readonly interval: number | null
}

/**
 * Returns the interval that a row itself gives in its field `interval`, in seconds; undefined if it
 * gives none. For example, the first row of a process is about its life until then, which is
 * shorter than the time since the timepoint before.
 */
export function ownInterval({ interval }: Readonly<Record<string, unknown>>): number | undefined {
  return typeof interval === 'number' && interval > 0 ? interval : undefined
}

/** The kinds of things that a row describes. */
export const ROW_KINDS = [
  'process',
  'thread',
  'container',
  'device',
  'interface',
  'pod',
  'function',
  'stack',
] as const satisfies readonly RowSection['of'][]

export type RowKind = (typeof ROW_KINDS)[number]

/** The cells of a row by the name of their column, without the columns of every sample. */
export type RowCells = Readonly<Record<string, Cell>>

/**
 * A row: one process, container, device or other thing at one timepoint of one log.
 */
export type Sample = { readonly kind: RowKind; readonly section: string } & RowOrigin &
  Moment &
  RowCells
