// The processes: one table with the numbers of all metrics, the heat map, and the plots over time.

import type { SectionData } from '../section-data.ts'
import { DATA } from './data.ts'
import { classed, element, inside, made } from './elements.ts'
import { isPodShown, isShown } from './filter.ts'
import { counted } from './format.ts'
import { type Board, showBoard, startBoard } from './plots.ts'
import { processSections } from './sections.ts'
import { showStrip, startStrip } from './strip.ts'
import { showTable, startTable, type TableRow } from './table.ts'
import { startTopic, topicPlace } from './topics.ts'

/** Columns of sections that measure the same as those that the page shows of every process. */
const KNOWN = new Set([
  'percent_cpu',
  'cpu_time',
  'rss',
  'kb_rd_s',
  'kb_wr_s',
  'cswch_s',
  'nvcswch_s',
])

function isKnown(key: string) {
  return KNOWN.has(key.split(' ')[0] ?? '')
}

/** Starts the topics of the processes. */
export function startProcesses() {
  const isMissing = DATA.rows.length === 0
  for (const id of ['summary', 'strip', 'plots']) element(id).hidden = isMissing
  if (isMissing) return
  inside('summary', '.facts').textContent = counted(DATA.rows.length, 'row')
  inside('strip', '.facts').textContent = counted(DATA.plots.lines.length, 'line')
  inside('plots', '.facts').textContent = 'CPU, memory, input and output, and more'
  startTopic(topicPlace('summary'), buildTable)
  startTopic(topicPlace('strip'), () => {
    startStrip()
    return showStrip
  })
  startTopic(topicPlace('plots'), buildPlots)
}

function buildTable() {
  const { columns, rows } = joinedTable()
  const table = startTable({ columns, rows, isShown }, 'summary', 'Program', '.note')
  return () => showTable(table)
}

/** Joins the rows of the sections of processes to those of the programs, by pod and program. */
function joinedTable(): Pick<typeof DATA, 'columns' | 'rows'> {
  const parts = processSections().map(({ data }) => joinable(data))
  return {
    columns: [...DATA.columns, ...parts.flatMap(({ columns }) => columns)],
    rows: DATA.rows.map((row) => {
      const own = parts.map(({ columns, rows }) => {
        const found = rows.get(keyOf(row.pod, row.program))
        return found ?? { values: columns.map(() => null), marks: columns.map(() => false) }
      })
      return {
        ...row,
        values: [...row.values, ...own.flatMap(({ values }) => values)],
        marks: [...row.marks, ...own.flatMap(({ marks }) => marks)],
      }
    }),
  }
}

function keyOf(pod: string, program: string) {
  return JSON.stringify([pod, program])
}

/** Returns the columns of a section that the table does not have yet, and its rows by program. */
function joinable({ columns, rows }: SectionData) {
  const kept = [...columns.keys()].filter((index) => !isKnown(columns[index]?.key ?? ''))
  const pick = <Value>(list: readonly Value[]) => kept.flatMap((index) => list[index] as Value)
  const byProgram = new Map<string, Pick<TableRow, 'values' | 'marks'>>()
  for (const { pod, process, program, values, marks } of rows)
    byProgram.set(keyOf(pod, process ?? program), { values: pick(values), marks: pick(marks) })
  return { columns: pick(columns), rows: byProgram }
}

function buildPlots() {
  const boards: readonly Board[] = [
    startBoard(DATA.plots, 'plots', isShown, inside('plots', '.constant')),
    ...processSections().map(({ data, index }) => addBoard(data, index)),
  ]
  return () => {
    for (const board of boards) showBoard(board)
  }
}

/** Adds the plots of a section, without those that the page shows of every process. */
function addBoard({ title, description, plots }: SectionData, index: number): Board {
  const section = classed('div', 'metric')
  section.id = `section-${index}`
  section.append(
    made('h3', `More of ${title}`),
    classed('p', 'note', `${description}.`),
    classed('p', 'legend'),
    classed('div', 'grid'),
    classed('p', 'note constant'),
  )
  element('plots').append(section)
  const board = startBoard(plots, section.id, isPodShown, inside(section.id, '.constant'))
  return { ...board, isPlotted: ({ key }) => !isKnown(key) }
}
