// The sections of the metrics whose logs are in JSON Lines. Sections of one topic are together;
// those of processes belong to the topics of the processes.

import { capitalized } from '../../../lib/capitalized.ts'
import type { SectionData } from '../section-data.ts'
import { DATA } from './data.ts'
import { classed, inside, made, scrollOf } from './elements.ts'
import { isPodShown } from './filter.ts'
import { counted } from './format.ts'
import { type Board, showBoard, startBoard } from './plots.ts'
import { showTable, startTable, type Table } from './table.ts'
import { addTopic, startTopic } from './topics.ts'

/** The topic of the processes, whose sections are columns of one table. */
const PROCESSES = 'Processes'
/** The topic with tables of its own, to which the sections of mpi-trace add only plots. */
const MPI = 'Time in MPI'

/** A section, and its index in the data. */
export interface ShownSection {
  readonly data: SectionData
  readonly index: number
}

/** The sections with data, by topic. */
function sectionsByTopic(): ReadonlyMap<string, readonly ShownSection[]> {
  const all = DATA.sections.map((data, index) => ({ data, index }))
  return Map.groupBy(all.filter(hasData), ({ data }) => data.topic)
}

function hasData({ data }: ShownSection) {
  return data.rows.some(({ values }) => values.some((value) => value !== null))
}

/** Returns the sections about processes. */
export function processSections(): readonly ShownSection[] {
  return sectionsByTopic().get(PROCESSES) ?? []
}

/** Adds a topic for each topic of sections that has none yet. */
export function addSectionTopics() {
  for (const [topic, sections] of sectionsByTopic()) {
    if (topic === PROCESSES || topic === MPI) continue
    const place = addTopic(
      `section-topic-${sections[0]?.index}`,
      topic,
      [...new Set(sections.map(({ data }) => data.metric))].join(', '),
    )
    startTopic(place, () => buildSections(place, sections))
  }
}

/** Returns the plots over time of the processes of MPI, which are added to an element. */
export function buildMpiPlots(place: HTMLElement): () => void {
  const sections = sectionsByTopic().get(MPI) ?? []
  const boards = sections.map((section) => {
    place.append(made('h3', 'Over time'))
    return addSection(place, section, false).board
  })
  return () => {
    for (const board of boards) showBoard(board)
  }
}

function buildSections(place: HTMLElement, sections: readonly ShownSection[]) {
  const built = sections.map((section) => {
    if (sections.length > 1) place.append(made('h3', titleOf(section.data)))
    return addSection(place, section, true)
  })
  return () => {
    for (const { table, board } of built) {
      if (table !== undefined) showTable(table)
      showBoard(board)
    }
  }
}

/** Returns the description of a section as a title. */
function titleOf({ description }: SectionData) {
  const [words = ''] = description.split(/[;,:]/)
  return capitalized(words)
}

const MERGED =
  ' There are too many lines for the plots. Therefore, in each log, all rows with the same name' +
  ' share a line, which shows the greatest value of each gauge, and the sum of each counter.'

/** Adds the elements of a section. */
function addSection(
  place: HTMLElement,
  { data, index }: ShownSection,
  hasTable: boolean,
): { table: Table | undefined; board: Board } {
  const { title, description, isMerged, columns, rows, plots } = data
  const section = classed('div', 'metric')
  section.id = `section-${index}`
  const scroll = scrollOf(`${title}: ${counted(rows.length, 'row')}`)
  const table = made('table')
  table.append(made('thead'), made('tbody'))
  scroll.append(table)
  section.append(
    classed('p', 'note', `${description} (${title}).${isMerged ? MERGED : ''}`),
    ...(hasTable ? [scroll, classed('p', 'note marks')] : []),
    classed('p', 'legend'),
    classed('div', 'grid'),
    classed('p', 'note constant'),
  )
  place.append(section)
  const content = { columns, rows, isShown: isPodShown }
  const started = hasTable ? startTable(content, section.id, 'Name', '.marks') : undefined
  if (started?.columns.length === 0) scroll.hidden = true
  return {
    table: started,
    board: startBoard(plots, section.id, isPodShown, inside(section.id, '.constant')),
  }
}
