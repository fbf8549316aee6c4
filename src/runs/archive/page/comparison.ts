// Two chosen runs side by side.

import { element, inside, made } from '../../report/page/elements.ts'
import { plain } from '../../report/page/format.ts'
import type { StoredRun } from '../listed-run.ts'
import { COMPARED, type RunColumn } from './columns.ts'
import { linkOf } from './run-link.ts'

let chosen: readonly StoredRun[] = []

export function isCompared(run: StoredRun): boolean {
  return chosen.includes(run)
}

/** Adds a run to the comparison, or removes it. A third run takes the place of the first. */
export function toggleCompared(run: StoredRun): void {
  chosen = isCompared(run) ? chosen.filter((one) => one !== run) : [...chosen, run].slice(-2)
  showComparison()
}

function showComparison(): void {
  const [first, second] = chosen
  element('comparison').hidden = first === undefined
  if (first === undefined) return
  const heads = ['', linkOf(first), second === undefined ? '' : linkOf(second), 'Change']
  inside('comparison', 'thead').replaceChildren(rowOf(heads, 'col'))
  const rows = COMPARED.map((column) => factsOf(column, first, second))
  inside('comparison', 'tbody').replaceChildren(...rows)
  inside('comparison', '.note').textContent =
    second === undefined
      ? 'Choose a second run in the table.'
      : 'Two runs differ by chance, too: compare repeated runs before you draw a conclusion.'
}

function factsOf(column: RunColumn, first: StoredRun, second: StoredRun | undefined): HTMLElement {
  const { title, unit } = column
  const name = unit === undefined ? title : `${title}, ${unit}`
  if (second === undefined) return rowOf([name, column.text(first), '', ''], 'row')
  const change = column.hasChange ? changeOf(column.value(first), column.value(second)) : ''
  return rowOf([name, column.text(first), column.text(second), change], 'row')
}

/** Returns by how much a number has changed; an empty text if one of the two is not known. */
function changeOf(before: unknown, after: unknown): string {
  if (typeof before !== 'number' || typeof after !== 'number' || before === 0) return ''
  const percent = (after / before - 1) * 100
  return `${percent > 0 ? '+' : ''}${plain(percent)} %`
}

/** @param scope whether the cells of the row, or only the first one, are titles */
function rowOf(cells: readonly (string | HTMLElement)[], scope: 'col' | 'row'): HTMLElement {
  const row = made('tr')
  for (const [index, content] of cells.entries()) {
    const isTitle = content !== '' && (scope === 'col' || index === 0)
    const cell = made(isTitle ? 'th' : 'td')
    if (isTitle) cell.setAttribute('scope', scope)
    cell.append(content)
    row.append(cell)
  }
  return row
}
