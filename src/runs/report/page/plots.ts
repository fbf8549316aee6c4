// The plots over time. A plot with few lines shows every line; a plot with many lines shows the
// minimum, median and maximum of all lines, and up to MAX_OUT outliers.

import uPlot from 'uplot'
import type { GridValue } from '../grid.ts'
import type { Line, Plots, Titled } from '../plots.ts'
import { inside, made } from './elements.ts'
import { counted, nameOf, plain, timeInRun } from './format.ts'
import { mostOf, shownUnit } from './shown-units.ts'
import { axisStyle } from './theme/axis.ts'
import { colour, LINE_COLOURS, lineColour } from './theme/colours.ts'
import { TIME_STEPS } from './time-ticks.ts'
import { isValue, meanOf, valuesIn } from './values.ts'

/** From this number of lines, a plot shows a summary instead of every line. */
const CROWD_FROM = 25
const MAX_OUT = 12
const HEIGHT = 210

/** The plots of a section: one for each measure. */
export interface Board {
  readonly plots: Plots
  readonly grid: Element
  readonly legend: Element
  readonly key: string
  readonly isShown: (line: Line) => boolean
  /** Whether a measure is plotted, if it is not constant. */
  readonly isPlotted: (measure: Titled) => boolean
  /** The element for a sentence about the constants; undefined to plot them. */
  readonly constants: Element | undefined
  charts: uPlot[]
}

/**
 * @param section the id of the element with the places of the plots and their legend
 * @param constants the element for a sentence that names the measures that are not plotted, because
 *   they are constant; if it is missing, they are plotted
 */
export function startBoard(
  plots: Plots,
  section: string,
  isLineShown: (line: Line) => boolean,
  constants?: Element,
): Board {
  const places = { grid: inside(section, '.grid'), legend: inside(section, '.legend'), constants }
  const isPlotted = () => true
  return { plots, ...places, key: section, isShown: isLineShown, isPlotted, charts: [] }
}

export function showBoard(board: Board) {
  for (const chart of board.charts) chart.destroy()
  board.charts = []
  const lines = board.plots.lines.filter(board.isShown)
  const isCrowd = lines.length >= CROWD_FROM
  board.grid.replaceChildren()
  const plotted = measuresOf(board)
  for (const measure of plotted) showPlot(board, measure, lines, isCrowd)
  if (plotted.length > 0) showLegend(board, lines, isCrowd)
}

/** Returns the measures that are plotted, and names those that are not. */
function measuresOf({ plots, isPlotted, constants }: Board): readonly number[] {
  const all = [...plots.measures.entries()].filter(([, measure]) => isPlotted(measure))
  if (constants === undefined) return all.map(([index]) => index)
  const still = new Map(all.map(([index]) => [index, constantIn(plots, index)]))
  const titles = all.flatMap(([index, { title }]) => {
    const value = still.get(index)
    return value === undefined ? [] : { title, value }
  })
  constants.textContent = describeConstants(titles)
  return all.flatMap(([index]) => (still.get(index) === undefined ? [index] : []))
}

/** Returns sentences about the measures that are not plotted. */
function describeConstants(all: readonly { readonly title: string; readonly value: string }[]) {
  const known = all.flatMap(({ title, value }) => (value === UNREAD ? [] : `${title} (${value})`))
  const unread = all.flatMap(({ title, value }) => (value === UNREAD ? title : []))
  const sentences = [
    known.length === 0 ? '' : `Not plotted, because no line changes: ${known.join(', ')}.`,
    unread.length === 0 ? '' : `Not read: ${unread.join(', ')}.`,
  ]
  return sentences.join(' ').trim()
}

const UNREAD = 'not read'

/** The most that a constant may differ from itself, as a part of its value: an error of clocks. */
const STILL = 0.005

/**
 * Returns the text of a measure that did not change in any line, `not read` if it has no value, and
 * undefined if it changed.
 */
function constantIn({ measures, lines }: Plots, measure: number): string | undefined {
  const ranges = lines.flatMap(({ values }) => rangesIn(values[measure] ?? []))
  if (ranges.some(isMoving)) return undefined
  if (ranges.length === 0) return UNREAD
  const [least, most] = [extreme(ranges.flat(), Math.min), extreme(ranges.flat(), Math.max)]
  const { unit, factor } = shownUnit(measures[measure]?.unit ?? '', Math.max(-least, most))
  const [low, high] = [plain(least * factor), plain(most * factor)]
  return `${low === high ? low : `${low} to ${high}`} ${unit}`.trim()
}

/** Returns the least and the greatest value of a line in a list; an empty one without values. */
function rangesIn(values: readonly GridValue[]): readonly (readonly [number, number])[] {
  const known = values.filter(isValue)
  if (known.length === 0) return []
  return [[extreme(known, Math.min), extreme(known, Math.max)]]
}

function isMoving([low, high]: readonly [number, number]) {
  return high - low > STILL * Math.max(Math.abs(high), Math.abs(low))
}

function extreme(values: readonly number[], choose: (a: number, b: number) => number) {
  return values.reduce((kept, value) => choose(kept, value), values[0] ?? Number.NaN)
}

export const NO_TITLE: Titled = { key: '', title: '', unit: '' }

function showPlot(board: Board, measure: number, lines: readonly Line[], isCrowd: boolean) {
  const { title, unit: rawUnit, meaning } = board.plots.measures[measure] ?? NO_TITLE
  const { unit, factor } = shownUnit(rawUnit, mostIn(board.plots, measure))
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
  const [times, ...rows] = content.data
  const scaled = rows.map((row) => Array.from(row, (value) => value && value * factor))
  const chart = new uPlot(options, [times, ...scaled], box)
  chart.root.setAttribute('role', 'img')
  chart.root.ariaLabel = describe(title, unit, scaled.flat().filter(isValue))
  board.charts.push(chart)
}

/** Returns a text for readers who do not see a plot. */
function describe(title: string, unit: string, values: readonly number[]) {
  const [least, most] = [extreme(values, Math.min), extreme(values, Math.max)]
  return `${title} over time: from ${plain(least)} to ${plain(most)} ${unit}`.trim()
}

/** Returns the greatest absolute value of a measure. */
function mostIn({ lines }: Plots, measure: number) {
  return lines.reduce((most, { values }) => Math.max(most, mostOf(values[measure] ?? [])), 0)
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
  const marked = known.filter((line) => line.marks[measure]).slice(0, MAX_OUT)
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
  const axis = axisStyle()
  return {
    width,
    height: HEIGHT,
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: board.key }, points: { show: false }, drag: { x: true, y: false } },
    scales: {
      x: { time: false },
      y: { range: (_chart, least, most) => rangeOf(least, most) },
    },
    axes: [
      { ...axis, incrs: TIME_STEPS, values: (_chart, splits) => splits.map(timeInRun) },
      { ...axis, size: axisWidth, values: (_chart, splits) => splits.map(plain) },
    ],
    series: [{}, ...series],
    bands,
    hooks: { setCursor: [(chart) => tell(chart, names, readout, unit)] },
  }
}

/** Returns the width of the values' axis in pixels, with room for its longest label. */
function axisWidth(_chart: uPlot, labels: readonly string[] | null) {
  const longest = (labels ?? []).reduce((most, { length }) => Math.max(most, length), 0)
  return Math.max(MIN_AXIS, longest * DIGIT + AXIS_MARGIN)
}

/** The widths of a digit at 11 pixels, of the ticks and of the margin, and the least, in pixels. */
const [DIGIT, AXIS_MARGIN, MIN_AXIS] = [7, 20, 44]

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
  readout.textContent = `${timeInRun(chart.data[0][idx] ?? 0)}  ${best.words}`
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
    [`lines whose mean is an outlier, ${MAX_OUT} at most`, colour('out')],
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
