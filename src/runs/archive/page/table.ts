// The table of runs, which shows one page of rows. A click on a column title sorts by that column;
// another click reverses the order.

import { classed, element, elementOf, inside, made } from '../../report/page/elements.ts'
import type { StoredRun } from '../listed-run.ts'
import { chooseWorkload } from './choice.ts'
import { COLUMNS, NAME, type RunColumn, STARTED, WORKLOAD } from './columns.ts'
import { isCompared, toggleCompared } from './comparison.ts'
import { linkOf } from './run-link.ts'

/** The most rows of a page: a browser takes seconds to render all runs. */
const MAX_ROWS = 100

const natural = new Intl.Collator('en', { numeric: true }).compare

interface State {
  runs: readonly StoredRun[]
  column: RunColumn
  isDown: boolean
  /** The index of the first shown run. */
  first: number
}

const state: State = { runs: [], column: STARTED, isDown: true, first: 0 }

/** Builds the titles and the buttons of the table. */
export function startTable(): void {
  const row = made('tr')
  row.append(made('td'), ...COLUMNS.map(titleOf))
  inside('runs', 'thead').replaceChildren(row)
  element('before').addEventListener('click', () => move(-MAX_ROWS))
  element('after').addEventListener('click', () => move(MAX_ROWS))
}

/** Shows the first page of these runs. */
export function showRuns(runs: readonly StoredRun[]): void {
  state.runs = sorted(runs)
  state.first = 0
  showPage()
}

function titleOf(column: RunColumn): HTMLElement {
  const cell = classed('th', column.isText ? 'text' : '')
  cell.scope = 'col'
  const button = made('button', column.title)
  button.type = 'button'
  button.addEventListener('click', () => sortBy(column))
  cell.append(button, made('small', column.unit ?? ''))
  return cell
}

function sortBy(column: RunColumn): void {
  // The first click sorts numbers in descending order and texts in ascending order.
  state.isDown = state.column === column ? !state.isDown : column.isText !== true
  state.column = column
  showRuns(state.runs)
}

function sorted(runs: readonly StoredRun[]): readonly StoredRun[] {
  const { column, isDown } = state
  const compare = (a: StoredRun, b: StoredRun) => compareValues(column.value(a), column.value(b))
  return runs.toSorted((a, b) => (isDown ? compare(b, a) : compare(a, b)))
}

/** Compares two values; unknown values sort before all others. */
function compareValues(a: string | number | null, b: string | number | null): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null)
  return typeof a === 'number' && typeof b === 'number' ? a - b : natural(String(a), String(b))
}

function move(rows: number): void {
  state.first += rows
  showPage()
  inside('runs', '.scroll').scrollIntoView({ block: 'nearest' })
}

function showPage(): void {
  const { runs, column, isDown, first } = state
  for (const [index, cell] of [...inside('runs', 'thead').querySelectorAll('th')].entries())
    cell.ariaSort = COLUMNS[index] !== column ? null : isDown ? 'descending' : 'ascending'
  const shown = runs.slice(first, first + MAX_ROWS)
  boxes = shown.map((run) => ({ box: boxOf(run), run }))
  checkBoxes()
  inside('runs', 'tbody').replaceChildren(...boxes.map(rowOf))
  const [from, to] = [first + Math.min(1, shown.length), first + shown.length]
  element('place').textContent = `${from} to ${to} of ${runs.length.toLocaleString('en')}`
  elementOf(HTMLButtonElement, 'before').disabled = first === 0
  elementOf(HTMLButtonElement, 'after').disabled = to === runs.length
}

/** The boxes of the shown rows. */
let boxes: readonly { readonly box: HTMLInputElement; readonly run: StoredRun }[] = []

function rowOf({ box, run }: (typeof boxes)[number]): HTMLElement {
  const [row, first] = [made('tr'), made('td')]
  first.append(box)
  row.append(first, ...COLUMNS.map((column) => cellOf(run, column)))
  return row
}

/** Returns the box that chooses a run. A third one takes the place of the first. */
function boxOf(run: StoredRun): HTMLInputElement {
  const box = made('input')
  box.type = 'checkbox'
  box.ariaLabel = `compare ${run.name}`
  box.addEventListener('change', () => {
    toggleCompared(run)
    checkBoxes()
  })
  return box
}

function checkBoxes(): void {
  for (const { box, run } of boxes) box.checked = isCompared(run)
}

function cellOf(run: StoredRun, column: RunColumn): HTMLElement {
  const text = column.text(run)
  const cell = made(column === NAME ? 'th' : 'td')
  if (column.isText) cell.className = 'text'
  if (column === NAME) cell.setAttribute('scope', 'row')
  if (column === NAME) cell.append(linkOf(run))
  else if (column === WORKLOAD) cell.append(workloadOf(run))
  else cell.textContent = text
  return cell
}

function workloadOf(run: StoredRun): HTMLElement {
  const button = classed('button', 'plain', run.workload)
  button.type = 'button'
  button.title = 'Show only the runs of this workload'
  button.addEventListener('click', () => chooseWorkload(run))
  return button
}
