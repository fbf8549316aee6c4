// The plots over time. A plot with few lines shows every line; a plot with many lines shows the
// minimum, median and maximum of all lines, and up to MOST_OUT outliers.

import uPlot from 'uplot'
import type { GridValue } from '../grid.ts'
import type { Line, Plots, Titled } from '../plots.ts'
import { colour, LINE_COLOURS, lineColour } from './colours.ts'
import { inside, made } from './elements.ts'
import { counted, duration, nameOf, plain } from './format.ts'
import { isValue, meanOf, valuesIn } from './values.ts'

/** From this number of lines, a plot shows a summary instead of every line. */
const CROWD_FROM = 25
const MOST_OUT = 12
const HEIGHT = 210

/** The possible distances between two ticks of the time axis, in seconds. */
const STEPS = [
  0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400,
  604_800,
]

/** The plots of a section: one for each measure. */
export interface Board {
  readonly plots: Plots
  readonly grid: Element
  readonly legend: Element
  readonly key: string
  readonly isShown: (line: Line) => boolean
  charts: uPlot[]
}

/** @param section the id of the element with the places of the plots and their legend */
export function startBoard(
  plots: Plots,
  section: string,
  isLineShown: (line: Line) => boolean,
): Board {
  const [grid, legend] = [inside(section, '.grid'), inside(section, '.legend')]
  return { plots, grid, legend, key: section, isShown: isLineShown, charts: [] }
}

export function showBoard(board: Board) {
  for (const chart of board.charts) chart.destroy()
  board.charts = []
  const lines = board.plots.lines.filter(board.isShown)
  const isCrowd = lines.length >= CROWD_FROM
  board.grid.replaceChildren()
  for (const measure of board.plots.measures.keys()) showPlot(board, measure, lines, isCrowd)
  showLegend(board, lines, isCrowd)
}

export const NO_TITLE: Titled = { key: '', title: '', unit: '' }

function showPlot(board: Board, measure: number, lines: readonly Line[], isCrowd: boolean) {
  const { title, unit, meaning } = board.plots.measures[measure] ?? NO_TITLE
  const box = made('div')
  box.className = 'plot'
  const head = made('header')
  const heading = made('h3', `${title} `)
  const readout = made('output')
  heading.append(made('small', unit))
  heading.title = meaning ?? ''
  head.append(heading, readout)
  box.append(head)
  board.grid.append(box)
  const known = lines.filter((line) => (line.values[measure]?.length ?? 0) > 0)
  if (known.length === 0) {
    const none = made(
      'p',
      lines.length === 0 ? 'No line matches the filter.' : 'No observer could read these values.',
    )
    none.className = 'none'
    box.append(none)
    return
  }
  const content = isCrowd
    ? crowdOf(board.plots, known, measure)
    : linesOf(board.plots, known, lines, measure)
  const options = optionsOf(content, board, box.clientWidth, readout, unit)
  board.charts.push(new uPlot(options, content.data, box))
}

interface Content {
  readonly data: uPlot.AlignedData
  readonly series: uPlot.Series[]
  readonly bands: uPlot.Band[]
  readonly names: string[]
}

/**
 * Returns the times of a grid: two per bucket if a line has two values per bucket, otherwise one.
 */
function timesOf({ buckets, width, isDownsampled }: Plots['grid'], isPaired: boolean) {
  const first = isDownsampled ? 0.25 : 0
  if (!isPaired) return Array.from({ length: buckets }, (_, bucket) => (bucket + first) * width)
  return Array.from(
    { length: buckets * 2 },
    (_, at) => (Math.floor(at / 2) + first + (at % 2) / 2) * width,
  )
}

/**
 * Converts the values of a line for uPlot. A bucket without a sample becomes undefined, and uPlot
 * draws the line across it. The value null stays null, and interrupts the line.
 */
function spread(values: readonly GridValue[], isPaired: boolean, buckets: number) {
  const drawn = values.map((value) => (value === '' ? undefined : value))
  if (!isPaired || values.length > buckets) return drawn
  return drawn.flatMap((value) => [value, undefined])
}

function linesOf(
  { grid }: Plots,
  known: readonly Line[],
  all: readonly Line[],
  measure: number,
): Content {
  const isPaired = known.some((line) => (line.values[measure]?.length ?? 0) > grid.buckets)
  const isFew = all.length <= LINE_COLOURS.length
  const rows = known.map((line) => spread(line.values[measure] ?? [], isPaired, grid.buckets))
  const series = known.map((line) => {
    const isOut = line.marks[measure] === true
    const plainColour = isOut ? colour('out') : colour('crowd')
    return { stroke: isFew ? lineColour(all.indexOf(line)) : plainColour, width: isOut ? 2 : 1.25 }
  })
  const data = [timesOf(grid, isPaired), ...rows] as uPlot.AlignedData
  return { data, series, bands: [], names: known.map(nameOf) }
}

function crowdOf({ grid }: Plots, known: readonly Line[], measure: number): Content {
  const marked = known.filter((line) => line.marks[measure]).slice(0, MOST_OUT)
  const isPaired = marked.some((line) => (line.values[measure]?.length ?? 0) > grid.buckets)
  const [most, least, middle] = envelopeOf(known, measure, grid.buckets).map((row) =>
    spread(row, isPaired, grid.buckets),
  )
  const outs = marked.map((line) => spread(line.values[measure] ?? [], isPaired, grid.buckets))
  const edge = { stroke: colour('band'), width: 1, points: { show: false } }
  const series = [edge, edge, { stroke: colour('line'), width: 1.5, points: { show: false } }]
  const data = [timesOf(grid, isPaired), most, least, middle, ...outs] as uPlot.AlignedData
  const names = ['maximum', 'minimum', 'median', ...marked.map(nameOf)]
  const outSeries = marked.map(() => ({ stroke: colour('out'), width: 1.25 }))
  return {
    data,
    series: [...series, ...outSeries],
    bands: [{ series: [1, 2], fill: colour('band') }],
    names,
  }
}

/**
 * Returns three rows with one value per bucket: the maximum and the minimum of all lines, and the
 * median of the lines' means.
 */
function envelopeOf(lines: readonly Line[], measure: number, buckets: number): GridValue[][] {
  const all = Array.from({ length: buckets }, (_, bucket) => {
    return lines.map((line) => valuesIn(line.values[measure] ?? [], bucket, buckets))
  })
  const flat = all.map((own) => own.flat().sort((a, b) => a - b))
  const means = all.map((own) =>
    own.flatMap((values) => meanOf(values) ?? []).sort((a, b) => a - b),
  )
  return [
    flat.map((values) => values.at(-1) ?? ''),
    flat.map((values) => values[0] ?? ''),
    means.map((values) => values[values.length >> 1] ?? ''),
  ]
}

function optionsOf(
  { series, bands, names }: Content,
  board: Board,
  width: number,
  readout: HTMLElement,
  unit: string,
): uPlot.Options {
  const axis = {
    stroke: colour('soft'),
    grid: { stroke: colour('rule'), width: 1 },
    ticks: { stroke: colour('rule'), width: 1 },
    font: '11px system-ui, sans-serif',
  }
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { sync: { key: board.key }, points: { show: false }, drag: { x: true, y: false } },
    scales: {
      x: { time: false },
      y: { range: (_chart, least, most) => rangeOf(least, most) },
    },
    axes: [
      { ...axis, incrs: STEPS, values: (_chart, splits) => splits.map(duration) },
      { ...axis, size: 58, values: (_chart, splits) => splits.map(plain) },
    ],
    series: [{}, ...series],
    bands,
    hooks: { setCursor: [(chart) => tell(chart, names, readout, unit)] },
  }
}

/** Returns the bounds of the values' axis: 0 is always on it. */
function rangeOf(least: number | null, most: number | null): [number, number] {
  const [low, high] = [Math.min(least ?? 0, 0) * 1.06, Math.max(most ?? 0, 0) * 1.06]
  return low === high ? [0, 1] : [low, high]
}

/** Shows the name and the value of the line that is nearest to the pointer. */
function tell(chart: uPlot, names: string[], readout: HTMLElement, unit: string) {
  const { idx, top = 0 } = chart.cursor
  if (idx === null || idx === undefined || top < 0) {
    readout.textContent = ''
    return
  }
  const wanted = chart.posToVal(top, 'y')
  let best = { far: Number.POSITIVE_INFINITY, words: '' }
  for (const [index, name] of names.entries()) {
    const value = near(chart.data[index + 1] ?? [], idx)
    if (value === undefined || Math.abs(value - wanted) >= best.far) continue
    best = { far: Math.abs(value - wanted), words: `${name}: ${plain(value)} ${unit}` }
  }
  readout.textContent = `${duration(chart.data[0][idx] ?? 0)}  ${best.words}`
}

function near(values: ArrayLike<number | null | undefined>, at: number) {
  return [values[at], values[at - 1], values[at + 1]].find(isValue)
}

function showLegend({ legend }: Board, lines: readonly Line[], isCrowd: boolean) {
  const keys = isCrowd ? crowdKeys(lines.length) : lineKeys(lines)
  legend.replaceChildren(...keys.map(([words, stroke]) => keyOf(words, stroke)))
}

function crowdKeys(count: number): [string, string][] {
  return [
    [`minimum to maximum of ${counted(count, 'line')}`, colour('band')],
    ['their median', colour('line')],
    [`lines whose mean is an outlier, ${MOST_OUT} at most`, colour('out')],
  ]
}

function lineKeys(lines: readonly Line[]): [string, string][] {
  if (lines.length <= LINE_COLOURS.length)
    return lines.map((line, index) => [nameOf(line), lineColour(index)])
  return [
    [counted(lines.length, 'line'), colour('crowd')],
    ['lines whose mean is an outlier', colour('out')],
  ]
}

function keyOf(words: string, stroke: string) {
  const key = made('span')
  const swatch = made('i')
  key.className = 'key'
  swatch.style.background = stroke
  key.append(swatch, words)
  return key
}
