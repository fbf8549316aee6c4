// The sections of the metrics whose logs are in JSON Lines: a table and plots for each section.

import type { SectionData } from '../section-data.ts'
import { classed, element, made } from './elements.ts'
import { isRankShown } from './filter.ts'
import { startBoard } from './plots.ts'
import { startTable } from './table.ts'

/** Adds the elements of a section to the page, and returns their id. */
function addSection({ title, description, isMerged }: SectionData, index: number): string {
  const section = classed('section', 'metric')
  section.id = `section-${index}`
  const merged =
    ' There are too many lines for the plots. Therefore, in each log, all rows with the same name' +
    ' share a line, which shows the greatest value of each gauge, and the sum of each counter.'
  const scroll = classed('div', 'scroll')
  const table = made('table')
  table.append(made('thead'), made('tbody'))
  scroll.append(table)
  section.append(
    made('h2', title),
    classed('p', 'note', `${description}.${isMerged ? merged : ''}`),
    scroll,
    classed('p', 'note marks'),
    classed('p', 'legend'),
    classed('div', 'grid'),
  )
  element('sections').append(section)
  return section.id
}

/** Adds a section to the page, and returns its table and its plots, which the caller draws. */
export function startSection(data: SectionData, index: number) {
  const id = addSection(data, index)
  const { columns, rows, plots } = data
  return {
    table: startTable({ columns, rows, isShown: isRankShown }, id, 'Name', '.marks'),
    board: startBoard(plots, id, isRankShown),
  }
}
