// The table by rank and program. A click on a column title sorts by that column; another click
// reverses the order.

const natural = new Intl.Collator('en', { numeric: true }).compare

/** The sort order. Column -2 is the rank, -1 the program. */
const order = { column: -2, isDown: false }

/** The maximum number of rows; a browser takes seconds to render more. */
const MOST_ROWS = 5000

function startTable() {
  const head = made('tr')
  const titles = [{ title: 'Rank', unit: '' }, { title: 'Program', unit: '' }, ...DATA.columns]
  for (const [index, { title, unit }] of titles.entries()) {
    const cell = made('th')
    const button = made('button', title)
    button.addEventListener('click', () => sortBy(index - 2))
    cell.append(button, made('small', unit))
    head.append(cell)
  }
  document.querySelector('#summary thead')?.replaceChildren(head)
}

/** @param {number} column */
function sortBy(column) {
  // The first click sorts numbers in descending order and names in ascending order.
  order.isDown = order.column === column ? !order.isDown : column >= 0
  order.column = column
  showTable()
}

function showTable() {
  const rows = DATA.rows.filter(isShown).sort(compareRows)
  const body = document.querySelector('#summary tbody')
  body?.replaceChildren(...rows.slice(0, MOST_ROWS).map(rowOf))
  const marked = rows.filter(({ marks }) => marks.some(Boolean)).length
  const more = rows.length > MOST_ROWS ? `The first ${counted(MOST_ROWS, 'row')} are shown. ` : ''
  element('summary-note').textContent = `${more}${tellMarks(marked, rows.length)}`
}

/** @param {number} marked @param {number} rows */
function tellMarks(marked, rows) {
  const rule =
    'A value is an outlier if it differs from the median of its program by more than four ' +
    'standard deviations (estimated by the median absolute deviation) and also by more than a ' +
    'tenth of the median; the program needs at least four values.'
  if (marked === 0) return `There are no outliers. ${rule}`
  return `${marked} of ${counted(rows, 'row')} have an outlier. ${rule}`
}

/** @param {PageData['rows'][number]} a @param {PageData['rows'][number]} b */
function compareRows(a, b) {
  const byName = natural(a.rank, b.rank) || natural(a.program, b.program)
  const { column, isDown } = order
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
  return (a ?? -1) - (b ?? -1)
}

/** @param {PageData['rows'][number]} row */
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
