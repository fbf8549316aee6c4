// The tables of metrics by pod, each in a topic of its own.

import type { PagePart } from '../../../metrics/page-part.ts'
import { DATA } from '../data.ts'
import { classed, inside, made, scrollOf } from '../elements.ts'
import { isPodShown } from '../filter.ts'
import { plain } from '../format.ts'
import { shownUnit } from '../shown-units.ts'
import { addTopic, startTopic } from '../topics.ts'

/** Adds the topics. */
export function addParts() {
  for (const part of DATA.parts ?? []) addPart(part)
}

function addPart(part: PagePart) {
  const place = addTopic(part.id, part.title, part.facts)
  startTopic(place, () => {
    const scroll = scrollOf(`${part.title} by pod`)
    scroll.append(made('table'))
    place.append(noteOf(part), scroll, classed('p', 'note', part.left))
    return () => showRows(part)
  })
}

function noteOf({ note }: PagePart): HTMLElement {
  const place = classed('p', 'note', '')
  for (const piece of note)
    if (typeof piece === 'string') place.append(piece)
    else place.append('code' in piece ? made('code', piece.code) : linkTo(piece.link))
  return place
}

function linkTo(address: string): HTMLElement {
  const link = made('a', address.replace(/^https:\/\//, ''))
  link.href = address
  link.rel = 'noreferrer'
  return link
}

function showRows({ id, columns, rows }: PagePart) {
  const [head, titles, body] = [made('thead'), made('tr'), made('tbody')]
  titles.append(...['Pod', ...columns.map(({ title }) => title)].map((title) => made('th', title)))
  head.append(titles)
  for (const { pod, cells } of rows.filter((one) => isPodShown({ pod: one.pod, marks: [] }))) {
    const texts = cells.map((cell, index) => cellText(cell, columns[index]?.unit))
    const row = made('tr')
    row.append(...[pod, ...texts].map((text) => made('td', text)))
    body.append(row)
  }
  inside(id, 'table').replaceChildren(head, body)
}

function cellText(cell: string | number | null, unit: string | undefined): string {
  if (typeof cell !== 'number' || unit === undefined) return String(cell ?? '')
  const shown = shownUnit(unit, cell)
  return `${plain(cell * shown.factor)} ${shown.unit}`
}
