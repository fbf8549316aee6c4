// The findings at the start of the page: texts, a table of evidence and a plot for each finding.

import type { PageData } from '../data.ts'
import { DATA } from './data.ts'
import { inside, made } from './elements.ts'
import { isPodShown, isShown } from './filter.ts'
import { counted, NOTHING_FOUND } from './format.ts'
import { NO_TITLE, showBoard, startBoard } from './plots.ts'

type Finding = PageData['findings']['findings'][number]

/**
 * Adds a finding to the page, and returns the board of its plot in a list; empty without a plot.
 */
function startFinding(finding: Finding, index: number) {
  const article = made('article')
  article.id = `finding-${index}`
  article.className = finding.severity
  const { title, sentence, advice, threshold, source } = finding
  article.append(
    made('h3', title),
    made('p', sentence),
    evidenceTable(finding),
    labelled('What to do', advice),
    labelled('Threshold', `${threshold}. Source: ${source}.`),
  )
  inside('findings', '.list').append(article)
  return finding.plot === null ? [] : [startFindingPlot(article, finding.plot)]
}

function labelled(label: string, text: string) {
  const paragraph = made('p')
  paragraph.append(made('b', `${label}: `), text)
  return paragraph
}

function evidenceTable({ columns, rows, more }: Finding) {
  const scroll = made('div')
  scroll.className = 'evidence'
  const [table, head, body] = [made('table'), made('thead'), made('tbody')]
  const titles = made('tr')
  titles.append(...['Pod', 'Time lost', ...columns].map((title) => made('th', title)))
  head.append(titles)
  for (const { pod, lost, cells } of rows) {
    const row = made('tr')
    row.append(...[pod, lost === '' ? 'not known' : lost, ...cells].map((cell) => made('td', cell)))
    body.append(row)
  }
  table.append(head, body)
  scroll.append(table)
  if (more > 0) scroll.append(made('p', `and ${counted(more, 'more pod')}`))
  return scroll
}

/**
 * Adds a copy of one of the plots of the page, with only the lines of the pods of the finding.
 */
function startFindingPlot(
  article: HTMLElement,
  { section, measure, pods }: NonNullable<Finding['plot']>,
) {
  const [legend, grid] = [made('p'), made('div')]
  legend.className = 'legend'
  grid.className = 'grid'
  article.append(legend, grid)
  const plots = section === null ? DATA.plots : DATA.sections[section]?.plots
  const wanted = pods === null ? undefined : new Set(pods)
  const lines = (plots?.lines ?? []).filter(({ pod }) => wanted === undefined || wanted.has(pod))
  const plot = {
    grid: plots?.grid ?? DATA.plots.grid,
    measures: [plots?.measures[measure] ?? NO_TITLE],
    omitted: 0,
    lines: lines.map((line) => ({
      ...line,
      values: [line.values[measure] ?? []],
      marks: [line.marks[measure] ?? false],
    })),
  }
  return startBoard(plot, article.id, section === null ? isShown : isPodShown)
}

/** Builds the findings, and returns a function that draws their plots. */
export function buildFindings() {
  const { findings, notes } = DATA.findings
  const some = 'What held the run up: failures first, then the most time lost, then risks.'
  inside('findings', '.note').textContent = findings.length === 0 ? NOTHING_FOUND : some
  inside('findings', '.unchecked').append(...notes.map((note) => made('li', note)))
  const boards = findings.flatMap(startFinding)
  return () => {
    for (const board of boards) showBoard(board)
  }
}
