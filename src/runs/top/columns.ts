import type { RowColumn, RowSection, RowsDescription } from '../../core/catalog.ts'
import { exportedName } from '../../core/live-export.ts'
import { quantityOf } from '../../core/rules/quantity.ts'
import { sectionKey } from '../evidence/evidence.ts'
import { coversIntervals, type Descriptions } from '../log/descriptions.ts'
import type { Total } from '../metrics/metric.ts'
import { type ColumnChoice, DEFAULT_COLUMNS } from './default-columns.ts'
import { NEEDED_COLUMNS } from './findings/log-evidence.ts'

/** A measured column, and the number that converts its values to the unit of the table. */
export interface TopSource {
  readonly metric: string
  readonly section: string
  readonly column: RowColumn
  readonly factor: number
}

/** A column of the table. */
export interface TopColumn extends TopSource {
  /**
   * The name in JSON and CSV: the name of the described column, after its metric and its section if
   * another column of the table has the same name.
   */
  readonly key: string
  readonly title: string
  readonly total: Total
  /**
   * The columns of other observed metrics that measure the same quantity. A pod without a value of
   * this column has the value of one of them.
   */
  readonly others?: readonly TopSource[]
  /** The unit in the table. For a counter, the unit of the column per second, if not converted. */
  readonly unit: string
}

interface Described {
  readonly metric: string
  readonly section: RowSection
  readonly column: RowColumn
}

/** The most columns of a table without requested columns and default columns. */
const MAX_OTHERS = 8

/**
 * Chooses the columns of the table: those that the user names, then the default ones. A name stands
 * for all columns with this name in the observed metrics, or for the first one in the catalog if no
 * observed metric has it. Without any of these columns, the table has the first columns of the
 * observed metrics.
 *
 * @param metrics the metrics that are observed
 * @param names the names of columns that the user requests
 */
export function chooseColumns(
  descriptions: Descriptions,
  metrics: ReadonlySet<string>,
  names: readonly string[],
): readonly TopColumn[] {
  const measured = listMeasured(descriptions)
  const requested = names.flatMap((name) => {
    const all = measured.filter(({ column }) => column.name === name)
    const observed = all.filter(({ metric }) => metrics.has(metric))
    return (observed.length > 0 ? observed : all.slice(0, 1)).map(requestedColumn)
  })
  const isObserved = ({ metric }: ColumnChoice) => metrics.has(metric)
  const defaults = DEFAULT_COLUMNS.flatMap((choices) => {
    const [first, ...others] = choices.filter(isObserved).flatMap((choice) => {
      return describe(choice, measured)
    })
    return first === undefined ? [] : [{ ...first, others: others.filter(isSameAs(first)) }]
  })
  const chosen = [...withOwnTitles(requested, defaults), ...defaults]
  if (chosen.length > 0) return withKeys(chosen)
  const observed = measured.filter(({ metric }) => metrics.has(metric))
  return withKeys(observed.slice(0, MAX_OTHERS).map(requestedColumn))
}

/**
 * Returns the description with which the rows of a metric are read. Rows about intervals have many
 * columns: if the metric has default columns, only the columns that can be shown or that rules read
 * are read. Other rows are compared with the whole description.
 *
 * @param names the names of columns that the user requests
 */
export function neededRows(
  metric: string,
  description: RowsDescription,
  names: readonly string[],
): RowsDescription {
  const defaults = DEFAULT_COLUMNS.flat().filter((choice) => choice.metric === metric)
  if (!coversIntervals(description) || defaults.length === 0) return description
  const shown = new Set([...names, ...defaults.map(({ column }) => column)])
  const sections = description.sections.map((section) => {
    const read = NEEDED_COLUMNS.get(sectionKey(metric, section.name))
    const isNeeded = ({ name, key }: RowColumn) =>
      key === true || shown.has(name) || read?.has(name) === true
    return { ...section, columns: section.columns.filter(isNeeded) }
  })
  return { ...description, sections }
}

/** Returns a function that reports whether a column measures the same quantity as another one. */
function isSameAs(one: TopColumn): (other: TopColumn) => boolean {
  const quantity = quantityIn(one)
  return (other) => quantityIn(other) === quantity
}

/** Returns the quantity of a column; without one, the name with which it is exported. */
function quantityIn({ metric, section, column }: TopSource): string {
  return quantityOf(column) ?? exportedName(metric, section, column)
}

/** Returns the columns that the values of a column may come from. */
export function sourcesOf(column: TopColumn): readonly TopSource[] {
  return [column, ...(column.others ?? [])]
}

/** Names a column in a message: its key, and its title if the title differs from the key. */
export function describeColumn({ key, title }: TopColumn): string {
  return key === title ? key : `${key} (${title})`
}

/** Returns the names of all columns that can be shown, without repetitions. */
export function listColumnNames(descriptions: Descriptions): readonly string[] {
  return [...new Set(listMeasured(descriptions).map(({ column }) => column.name))]
}

function listMeasured(descriptions: Descriptions): readonly Described[] {
  return [...descriptions].flatMap(([metric, { sections }]) =>
    sections.flatMap((section) =>
      section.columns.flatMap((column) => {
        return column.behavior === undefined ? [] : [{ metric, section, column }]
      }),
    ),
  )
}

/**
 * Returns a column as the default columns define it. For other columns, the total of a counter is
 * the sum, and the total of a gauge is the greatest value.
 */
function requestedColumn({ metric, section, column }: Described): TopColumn {
  const known = DEFAULT_COLUMNS.flat().find((choice) => {
    return isSame(choice, { metric, section, column })
  })
  if (known !== undefined) return buildColumn(known, column)
  const total = column.behavior === 'counter' ? 'sum' : 'greatest'
  const { name } = column
  return buildColumn({ title: name, metric, section: section.name, column: name, total }, column)
}

function describe(choice: ColumnChoice, measured: readonly Described[]): readonly TopColumn[] {
  const found = measured.find((one) => isSame(choice, one))
  return found === undefined ? [] : [buildColumn(choice, found.column)]
}

function isSame(choice: ColumnChoice, { metric, section, column }: Described): boolean {
  return (
    choice.metric === metric && choice.section === section.name && choice.column === column.name
  )
}

function buildColumn(choice: ColumnChoice, column: RowColumn): TopColumn {
  const { title, metric, section, total, factor = 1 } = choice
  const own = column.unit ?? ''
  const unit = choice.unit ?? (column.behavior === 'counter' ? `${own}/s` : own)
  return { key: column.name, title, metric, section, column, total, factor, unit }
}

const idOf = ({ metric, section, column }: TopColumn) => `${metric} ${section} ${column.name}`

/**
 * Gives requested columns the names of their columns as titles, if another column has the usual
 * title: `percent_wait`, because WAIT is the `run_delay` of pressure.
 */
function withOwnTitles(
  requested: readonly TopColumn[],
  defaults: readonly TopColumn[],
): readonly TopColumn[] {
  const all = [...requested, ...defaults]
  return requested.map((column) => {
    if (defaults.some((one) => idOf(one) === idOf(column))) return column
    const isShared = all.some((one) => one.title === column.title && idOf(one) !== idOf(column))
    return isShared ? { ...column, title: column.column.name } : column
  })
}

/** Removes repeated columns, and makes the keys and titles of columns with the same name differ. */
function withKeys(columns: readonly TopColumn[]): readonly TopColumn[] {
  const ids = columns.map(idOf)
  const distinct = columns.filter((column, index) => ids.indexOf(idOf(column)) === index)
  const keyed = distinct.map((column) => {
    const isShared = distinct.some((other) => other !== column && other.key === column.key)
    if (!isShared) return column
    const place = `${column.metric}.${column.section}`
    const hasOwnTitle = column.title !== column.column.name
    const title = hasOwnTitle ? column.title : `${column.section} ${column.title}`
    return { ...column, key: `${place}.${column.key}`, title }
  })
  return keyed.map((column) => {
    const isShared = keyed.some((other) => other !== column && other.title === column.title)
    return isShared ? { ...column, title: `${column.metric} ${column.title}` } : column
  })
}
