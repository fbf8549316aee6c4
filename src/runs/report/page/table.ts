// A table by rank and name. A click on a column title sorts by that column; another click reverses
// the order.

import type { PageData } from '../data.ts'
import type { Titled } from '../plots.ts'
import { inside, made } from './elements.ts'
import { counted, plain } from './format.ts'

const natural = new Intl.Collator('en', { numeric: true }).compare

/** The maximum number of rows; a browser takes seconds to render more. */
const MOST_ROWS = 5000

export type TableRow = PageData['rows'][number]

/** A table. Column -2 is the rank, and column -1 is the program or the name. */
export interface Table {
  readonly columns: readonly Titled[]
  readonly rows: readonly TableRow[]
  readonly body: Element
  readonly note: Element
  readonly isShown: (row: TableRow) => boolean
  column: number
  isDown: boolean
}

/** The tables that are on the page, which change with the filter. */
const tables: Table[] = []

/** Adds a table, in the place of another one if it is named. */
export function replaceTable(before: Table | undefined, table: Table) {
  if (before === undefined) tables.push(table)
  else tables.splice(tables.indexOf(before), 1, table)
}

/** Draws all tables anew. */
export function showTables() {
  for (const table of tables) showTable(table)
}

/**
 * @param section the id of the element with the table
 * @param name the title of the second column
 * @param note the selector of the element for the note
 */
export function startTable(
  content: Pick<Table, 'columns' | 'rows' | 'isShown'>,
  section: string,
  name: string,
  note: string,
): Table {
  const places = { body: inside(section, 'tbody'), note: inside(section, note) }
  const table = { ...content, ...places, column: -2, isDown: false }
  const head = made('tr')
  const titles: Omit<Titled, 'key'>[] = [
    { title: 'Rank', unit: '' },
    { title: name, unit: '' },
    ...content.columns,
  ]
  for (const [index, { title, unit, meaning }] of titles.entries()) {
    const cell = made('th')
    const button = made('button', title)
    button.title = meaning ?? ''
    button.addEventListener('click', () => sortBy(table, index - 2))
    cell.append(button, made('small', unit))
    head.append(cell)
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
  const rows = table.rows.filter(table.isShown).sort((a, b) => compareRows(table, a, b))
  table.body.replaceChildren(...rows.slice(0, MOST_ROWS).map(rowOf))
  const marked = rows.filter(({ marks }) => marks.some(Boolean)).length
  const more = rows.length > MOST_ROWS ? `The first ${counted(MOST_ROWS, 'row')} are shown. ` : ''
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
  const byName = natural(a.rank, b.rank) || natural(a.program, b.program)
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

function rowOf({ rank, program, values, marks }: TableRow) {
  const row = made('tr')
  row.append(made('td', rank), made('td', program))
  for (const [index, value] of values.entries()) {
    const cell = made('td', plain(value))
    if (marks[index]) cell.className = 'out'
    row.append(cell)
  }
  return row
}
