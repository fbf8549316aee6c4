// A table by pod and name. A click on a column title sorts by that column; another click reverses
// the order.

import type { PageData } from '../data.ts'
import type { Titled } from '../plots.ts'
import { inside, made } from './elements.ts'
import { counted, plain } from './format.ts'
import { mostOf, type ShownUnit, shownUnit } from './shown-units.ts'

const natural = new Intl.Collator('en', { numeric: true }).compare

/** The maximum number of rows; a browser takes seconds to render more. */
const MAX_ROWS = 5000

/** The most columns of a table that fit on paper side by side, without the pod and the name. */
const MAX_PRINTED = 6

export type TableRow = PageData['rows'][number]

/** A table. Column -2 is the pod, and column -1 is the program or the name. */
export interface Table {
  readonly columns: readonly Titled[]
  /** The units in which the columns are shown. */
  readonly units: readonly ShownUnit[]
  readonly rows: readonly TableRow[]
  /** The titles of the columns; those of the pod and the name are the first. */
  readonly heads: HTMLElement[]
  readonly body: Element
  readonly note: Element
  readonly isShown: (row: TableRow) => boolean
  column: number
  isDown: boolean
}

/** Reports whether a column is the peak of the column before it, and has the same values. */
function isRepeated(columns: readonly Titled[], rows: readonly TableRow[], index: number) {
  const [mean, peak] = [columns[index - 1]?.key, columns[index]?.key]
  if (!peak?.endsWith(' peak') || mean !== peak.replace(/ peak$/, ' mean')) return false
  return rows.every(({ values }) => plain(values[index]) === plain(values[index - 1]))
}

type TableContent = Pick<Table, 'columns' | 'rows' | 'isShown'>

/**
 * Leaves out the columns that are empty or 0 in all rows, and the peaks that are equal to the
 * means.
 */
function filledColumns({ columns, rows, isShown }: TableContent): TableContent {
  const kept = [...columns.keys()].filter(
    (index) => rows.some(({ values }) => values[index]) && !isRepeated(columns, rows, index),
  )
  const pick = <Value>(list: readonly Value[]) => kept.map((index) => list[index] as Value)
  return {
    columns: pick(columns),
    rows: rows.map((row) => ({ ...row, values: pick(row.values), marks: pick(row.marks) })),
    isShown,
  }
}

/**
 * @param section the id of the element with the table
 * @param name the title of the second column
 * @param note the selector of the element for the note
 */
export function startTable(
  content: TableContent,
  section: string,
  name: string,
  note: string,
): Table {
  const places = { body: inside(section, 'tbody'), note: inside(section, note) }
  const shown = filledColumns(content)
  const units = shown.columns.map(({ unit }, index) =>
    shownUnit(unit, mostOf(shown.rows.map(({ values }) => values[index]))),
  )
  const table: Table = { ...shown, units, ...places, heads: [], column: -2, isDown: false }
  const head = made('tr')
  const titles: Omit<Titled, 'key'>[] = [
    { title: 'Pod', unit: '' },
    { title: name, unit: '' },
    ...shown.columns.map((column, index) => ({ ...column, unit: units[index]?.unit ?? '' })),
  ]
  for (const [index, { title, unit, meaning }] of titles.entries()) {
    const cell = made('th')
    const button = made('button', title)
    button.title = meaning ?? ''
    button.addEventListener('click', () => sortBy(table, index - 2))
    cell.append(button, made('small', unit))
    head.append(cell)
    table.heads.push(cell)
  }
  inside(section, 'thead').replaceChildren(head)
  return table
}

function sortBy(table: Table, column: number) {
  // The first click sorts numbers in descending order and names in ascending order.
  table.isDown = table.column === column ? !table.isDown : column >= 0
  table.column = column
  showTable(table)
}

export function showTable(table: Table) {
  for (const [index, cell] of table.heads.entries()) {
    if (index - 2 === table.column) cell.ariaSort = table.isDown ? 'descending' : 'ascending'
    else cell.ariaSort = null
  }
  const rows = table.rows.filter(table.isShown).sort((a, b) => compareRows(table, a, b))
  const isWide = table.columns.length > MAX_PRINTED
  table.body.closest('table')?.classList.toggle('wide', isWide)
  table.body.replaceChildren(...rows.slice(0, MAX_ROWS).map((row) => rowOf(row, table)))
  const marked = rows.filter(({ marks }) => marks.some(Boolean)).length
  const more = rows.length > MAX_ROWS ? `The first ${counted(MAX_ROWS, 'row')} are shown. ` : ''
  table.note.textContent = `${more}${tellMarks(marked, rows.length)}`
}

function tellMarks(marked: number, rows: number) {
  const rule =
    'A value is an outlier if it differs from the median of its program by more than four ' +
    'standard deviations (estimated by the median absolute deviation), by more than a tenth of ' +
    'the median, and by more than a minimum; the program needs at least four values.'
  if (marked === 0) return `There are no outliers. ${rule}`
  return `${marked} of ${counted(rows, 'row')} have an outlier. ${rule}`
}

function compareRows({ column, isDown }: Table, a: TableRow, b: TableRow) {
  const byName = natural(a.pod, b.pod) || natural(a.program, b.program)
  const order =
    column === -2
      ? byName
      : column === -1
        ? natural(a.program, b.program) || byName
        : compareValues(a.values[column], b.values[column]) || byName
  return isDown ? -order : order
}

/** Compares two values; unknown values sort before all others. */
function compareValues(a: number | null | undefined, b: number | null | undefined) {
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : -1
  return b === null || b === undefined ? 1 : a - b
}

function rowOf({ pod, program, values, marks }: TableRow, { columns, units }: Table) {
  const row = made('tr')
  row.append(made('td', pod), made('td', program))
  for (const [index, value] of values.entries()) {
    const { factor } = units[index] ?? { factor: 1 }
    const cell = made('td', plain(value === null ? null : value * factor))
    if (marks[index]) cell.className = 'out'
    // On paper, the cells of a wide table have their own titles.
    if (columns.length > MAX_PRINTED)
      cell.dataset.title = titleWithUnit(columns[index], units[index])
    row.append(cell)
  }
  return row
}

function titleWithUnit({ title }: Titled = NO_TITLE, { unit }: ShownUnit = NO_UNIT) {
  return unit === '' ? title : `${title}, ${unit}`
}

const NO_TITLE: Titled = { key: '', title: '', unit: '' }
const NO_UNIT: ShownUnit = { unit: '', factor: 1 }
