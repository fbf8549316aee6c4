// The sections of the metrics whose logs are in JSON Lines: a table and plots for each section.

import type { PageData } from '../data.ts'
import { element, made } from './elements.ts'
import { isRankShown } from './filter.ts'
import { startBoard } from './plots.ts'
import { startTable } from './table.ts'

/** Adds the elements of a section to the page, and returns their id. */
function addSection({ title, description, isMerged }: PageData['sections'][number], index: number) {
  const section = made('section')
  section.id = `section-${index}`
  section.className = 'metric'
  const merged =
    ' There are too many lines for the plots. Therefore, in each log, all rows with the same name' +
    ' share a line, which shows the greatest value of each gauge, and the sum of each counter.'
  const about = made('p', `${description}.${isMerged ? merged : ''}`)
  about.className = 'note'
  const scroll = made('div')
  scroll.className = 'scroll'
  const table = made('table')
  table.append(made('thead'), made('tbody'))
  scroll.append(table)
  const [marks, legend, grid] = ['note marks', 'legend', 'grid'].map((name) => {
    const place = made(name === 'grid' ? 'div' : 'p')
    place.className = name
    return place
  })
  section.append(made('h2', title), about, scroll)
  for (const place of [marks, legend, grid]) if (place !== undefined) section.append(place)
  element('sections').append(section)
  return section.id
}

export function startSection(data: PageData['sections'][number], index: number) {
  const id = addSection(data, index)
  const { columns, rows, plots } = data
  return {
    table: startTable({ columns, rows, isShown: isRankShown }, id, 'Name', '.marks'),
    board: startBoard(plots, id, isRankShown),
  }
}
