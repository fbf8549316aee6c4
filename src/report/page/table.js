// A table by rank and name. A click on a column title sorts by that column; another click reverses
// the order.

const natural = new Intl.Collator('en', { numeric: true }).compare

/** The maximum number of rows; a browser takes seconds to render more. */
const MOST_ROWS = 5000

/** @typedef {PageData['rows'][number]} TableRow */

/**
 * A table. Column -2 is the rank, and column -1 is the program or the name.
 *
 * @typedef {{ columns: readonly Titled[], rows: readonly TableRow[], body: Element, note: Element,
 *   isShown: (row: TableRow) => boolean, column: number, isDown: boolean }} Table
 */

/**
 * @param {Pick<Table, 'columns' | 'rows' | 'isShown'>} content
 * @param {string} section the id of the element with the table
 * @param {string} name the title of the second column
 * @param {string} note the selector of the element for the note
 * @returns {Table}
 */
function startTable(content, section, name, note) {
  const places = { body: inside(section, 'tbody'), note: inside(section, note) }
  const table = { ...content, ...places, column: -2, isDown: false }
  const head = made('tr')
  const titles = [{ title: 'Rank', unit: '' }, { title: name, unit: '' }, ...content.columns]
  for (const [index, { title, unit, meaning }] of /** @type {Titled[]} */ (titles).entries()) {
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

/** @param {Table} table @param {number} column */
function sortBy(table, column) {
  // The first click sorts numbers in descending order and names in ascending order.
  table.isDown = table.column === column ? !table.isDown : column >= 0
  table.column = column
  showTable(table)
}

/** @param {Table} table */
function showTable(table) {
  const rows = table.rows.filter(table.isShown).sort((a, b) => compareRows(table, a, b))
  table.body.replaceChildren(...rows.slice(0, MOST_ROWS).map(rowOf))
  const marked = rows.filter(({ marks }) => marks.some(Boolean)).length
  const more = rows.length > MOST_ROWS ? `The first ${counted(MOST_ROWS, 'row')} are shown. ` : ''
  table.note.textContent = `${more}${tellMarks(marked, rows.length)}`
}

/** @param {number} marked @param {number} rows */
function tellMarks(marked, rows) {
  const rule =
    'A value is an outlier if it differs from the median of its program by more than four ' +
    'standard deviations (estimated by the median absolute deviation), by more than a tenth of ' +
    'the median, and by more than a minimum; the program needs at least four values.'
  if (marked === 0) return `There are no outliers. ${rule}`
  return `${marked} of ${counted(rows, 'row')} have an outlier. ${rule}`
}

/** @param {Table} table @param {TableRow} a @param {TableRow} b */
function compareRows({ column, isDown }, a, b) {
  const byName = natural(a.rank, b.rank) || natural(a.program, b.program)
  const own =
    column === -2
      ? byName
      : column === -1
        ? natural(a.program, b.program) || byName
        : compareValues(a.values[column], b.values[column]) || byName
  return isDown ? -own : own
}

/**
 * Compares two values; unknown values sort before all others.
 *
 * @param {number | null | undefined} a
 * @param {number | null | undefined} b
 */
function compareValues(a, b) {
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : -1
  return b === null || b === undefined ? 1 : a - b
}

/** @param {TableRow} row */
function rowOf({ rank, program, values, marks }) {
  const row = made('tr')
  row.append(made('td', rank), made('td', program))
  for (const [index, value] of values.entries()) {
    const cell = made('td', plain(value))
    if (marks[index]) cell.className = 'out'
    row.append(cell)
  }
  return row
}
