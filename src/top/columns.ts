import type { RowColumn, RowSection, RowsDescription } from '../core/catalog.ts'
import type { Descriptions } from '../log/descriptions.ts'
import { type ColumnChoice, DEFAULT_COLUMNS, type Total } from './default-columns.ts'

/** A column of the table. */
export interface TopColumn {
  /** The name in JSON and CSV: that of the described column, with the section if it is shared. */
  readonly key: string
  readonly title: string
  readonly metric: string
  readonly section: string
  readonly column: RowColumn
  readonly total: Total
  /** The number that converts a value of the column to the unit of the table. */
  readonly factor: number
  /** The unit of the table, which is per second if the column is a counter in its own unit. */
  readonly unit: string
}

interface Described {
  readonly metric: string
  readonly section: RowSection
  readonly column: RowColumn
}

/** The most columns of a run for whose metrics there are no default ones. */
const MOST_OTHERS = 8

/**
 * Chooses the columns of the table: those that the user names, then the default ones. A name stands
 * for the column in every section that has it. Without any of these, the table has the first
 * columns of the observed metrics.
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
    const found = choices.filter(isObserved).flatMap((choice) => describe(choice, measured))
    return found.slice(0, 1)
  })
  const chosen = [...requested, ...defaults]
  if (chosen.length > 0) return withKeys(chosen)
  const observed = measured.filter(({ metric }) => metrics.has(metric))
  return withKeys(observed.slice(0, MOST_OTHERS).map(requestedColumn))
}

/**
 * Returns the description of the rows that can be in the table. In the formats of pidstat and
 * iostat, whose rows have many columns, only the columns that can be shown are read. A row in JSON
 * Lines is compared with its whole description.
 *
 * @param names the names of columns that the user requests
 */
export function neededRows(
  metric: string,
  description: RowsDescription,
  names: readonly string[],
): RowsDescription {
  const defaults = DEFAULT_COLUMNS.flat().filter((choice) => choice.metric === metric)
  if (description.format === 'jsonl' || defaults.length === 0) return description
  const wanted = new Set([...names, ...defaults.map(({ column }) => column)])
  const sections = description.sections.map((section) => ({
    ...section,
    columns: section.columns.filter(({ name, key }) => key === true || wanted.has(name)),
  }))
  return { ...description, sections }
}

/** Names a column in a message: its key, and its title if that differs. */
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

/** Returns a column that is not a default one: the greatest of its gauges. */
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

/** Removes repeated columns, and makes the keys and titles of the others differ. */
function withKeys(columns: readonly TopColumn[]): readonly TopColumn[] {
  const idOf = ({ metric, section, column }: TopColumn) => `${metric} ${section} ${column.name}`
  const ids = columns.map(idOf)
  const distinct = columns.filter((column, index) => ids.indexOf(idOf(column)) === index)
  return distinct.map((column) => {
    const isShared = distinct.some((other) => other !== column && other.key === column.key)
    if (!isShared) return column
    const place = `${column.metric}.${column.section}`
    const hasOwnTitle = column.title !== column.column.name
    const title = hasOwnTitle ? column.title : `${column.section} ${column.title}`
    return { ...column, key: `${place}.${column.key}`, title }
  })
}
