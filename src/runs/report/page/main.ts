// Builds the page, and redraws it if the filter, the theme or the width changes, and to print it.

import 'uplot/dist/uPlot.min.css'
import './page.css'
import { isDark, setPrinting } from './colours.ts'
import { DATA } from './data.ts'
import { element, made } from './elements.ts'
import { isRankShown, isShown, startFilter } from './filter.ts'
import { startFindings } from './findings.ts'
import { counted, duration } from './format.ts'
import { addMpi } from './mpi.ts'
import { addOverview } from './overview.ts'
import { showBoard, startBoard } from './plots.ts'
import { startSection } from './sections.ts'
import { showStrip, startStrip } from './strip.ts'
import { replaceTable, showTables, startTable } from './table.ts'

const sections = DATA.sections.map(startSection)

const boards = [
  ...startFindings(),
  startBoard(DATA.plots, 'plots', isShown),
  startBoard(DATA.devices, 'devices', isRankShown),
  ...sections.map(({ board }) => board),
]

for (const table of [
  startTable({ ...DATA, isShown }, 'summary', 'Program', '.note'),
  ...sections.map((section) => section.table),
])
  replaceTable(undefined, table)

function about() {
  const { ranks, programs, duration: seconds, samples, logs } = DATA
  const programCount = programs.length === 0 ? [] : [counted(programs.length, 'program')]
  const parts = [counted(ranks.length, 'rank'), ...programCount, duration(seconds)]
  const unit =
    DATA.unit === 'process'
      ? 'each line shows a process'
      : 'each line shows a program with all its processes on a rank'
  const told = `${parts.join(', ')}; ${counted(samples, 'sample')} in ${counted(logs, 'log')}`
  return programs.length === 0 ? `${told}.` : `${told}; ${unit}.`
}

function show() {
  const ofRanks = DATA.sections.flatMap(({ plots }) => plots.lines)
  const lines = DATA.plots.lines.filter(isShown).length + ofRanks.filter(isRankShown).length
  const all = DATA.plots.lines.length + ofRanks.length
  element('shown').textContent = `${lines.toLocaleString('en')} of ${counted(all, 'line')}`
  showTables()
  showStrip()
  for (const board of boards) showBoard(board)
}

let pending = 0

/** Combines several changes into one redraw. */
function showSoon() {
  cancelAnimationFrame(pending)
  pending = requestAnimationFrame(show)
}

function print(isNow: boolean) {
  if (!setPrinting(isNow)) return
  const { dataset } = document.documentElement
  if (isNow) {
    dataset.before = dataset.theme ?? ''
    dataset.theme = 'light'
  } else if (dataset.before) dataset.theme = dataset.before
  else delete dataset.theme
  show()
}

function start() {
  element('about').textContent = about()
  addOverview()
  element('notices').replaceChildren(...DATA.notices.map((notice) => made('li', notice)))
  for (const id of ['summary', 'strip', 'plots']) element(id).hidden = DATA.rows.length === 0
  element('devices').hidden = DATA.devices.lines.length === 0
  if (DATA.idleDevices > 0)
    element('devices')
      .querySelector('.note')
      ?.append(` Not shown: ${counted(DATA.idleDevices, 'device')} without any activity.`)
  startStrip()
  startFilter(showSoon)
  element('theme').addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'
    showSoon()
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', showSoon)
  addEventListener('beforeprint', () => print(true))
  addEventListener('afterprint', () => print(false))
  let width = document.body.clientWidth
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return
    width = document.body.clientWidth
    showSoon()
  }).observe(document.body)
  show()
  if (DATA.mpi !== undefined) addMpi()
}

start()
