// Pods side by side, as a heat map: one row for each line of the plots (a process or a program),
// time from left to right, the measure as a colour.

import type { Line } from '../plots.ts'
import { DATA } from './data.ts'
import { element, elementOf, inside } from './elements.ts'
import { isShown, showPod } from './filter.ts'
import { counted, nameOf, plain, timeInRun } from './format.ts'
import { mostOf, shownUnit } from './shown-units.ts'
import { colour, heat, heatStops } from './theme/colours.ts'
import { isValue, meanOf, valuesIn } from './values.ts'

const GUTTER = 150
const MARK = 10

let stripLines: Line[] = []
let stripTop = 0

export function startStrip() {
  const select = elementOf(HTMLSelectElement, 'measure')
  for (const [index, { title, unit }] of DATA.plots.measures.entries())
    select.append(new Option(optionText(title, unitOf(index, unit).unit), String(index)))
  select.addEventListener('change', showStrip)
  const canvas = stripCanvas()
  canvas.setAttribute('role', 'img')
  canvas.ariaLabel = 'Lines side by side: a row for each line, and time from left to right'
  canvas.addEventListener('mousemove', (event) => tellStrip(event.offsetX, event.offsetY))
  canvas.addEventListener('click', (event) => {
    const line = stripLines[rowAt(event.offsetY)]
    if (line !== undefined) showPod(line.pod)
  })
}

function optionText(title: string, unit: string) {
  return unit === '' ? title : `${title}, ${unit}`
}

/** Returns the unit in which a measure is shown. */
function unitOf(measure: number, unit: string) {
  const { lines } = DATA.plots
  const most = lines.reduce((all, { values }) => Math.max(all, mostOf(values[measure] ?? [])), 0)
  return shownUnit(unit, most)
}

function measureUnit(measure: number) {
  return unitOf(measure, DATA.plots.measures[measure]?.unit ?? '')
}

function stripCanvas() {
  return inside('strip', '.strip canvas') as HTMLCanvasElement
}

function measureIndex() {
  return Number(elementOf(HTMLSelectElement, 'measure').value)
}

/**
 * Returns the height of a row in pixels, from 1 to 18. With few rows, each row has room for a name.
 */
function rowHeight(lines: number) {
  return Math.min(Math.max(Math.floor(640 / Math.max(lines, 1)), 1), 18)
}

function rowAt(y: number) {
  return Math.floor(y / rowHeight(stripLines.length))
}

/**
 * Returns the mean of a line's values in a bucket. The result is '' if the bucket has no sample,
 * and null where a gap begins (samples are missing), or if the samples have no value.
 */
function valueAt(line: Line, measure: number, bucket: number) {
  const { buckets } = DATA.plots.grid
  const values = line.values[measure] ?? []
  const own = valuesIn(values, bucket, buckets)
  const first = values[values.length > buckets ? bucket * 2 : bucket]
  return meanOf(own) ?? first ?? null
}

export function showStrip() {
  const measure = measureIndex()
  stripLines = DATA.plots.lines.filter(isShown)
  stripTop = mostIn(stripLines, measure)
  const canvas = stripCanvas()
  const height = rowHeight(stripLines.length)
  const context = sized(canvas, canvas.clientWidth, Math.max(stripLines.length, 1) * height)
  paintRows(context, measure, height, canvas.clientWidth)
  nameRows(context, measure, height, canvas.clientWidth)
  paintScale(measure)
}

function mostIn(lines: readonly Line[], measure: number) {
  let most = 0
  for (const line of lines)
    for (const value of line.values[measure] ?? []) if (isValue(value) && value > most) most = value
  return most
}

/** Sizes a canvas for the pixel density of the screen. */
function sized(canvas: HTMLCanvasElement, width: number, height: number) {
  const ratio = stripRatio(height)
  canvas.width = Math.max(Math.round(width * ratio), 1)
  canvas.height = Math.max(Math.round(height * ratio), 1)
  canvas.style.height = `${height}px`
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('the browser supports no 2D canvas')
  context.scale(ratio, ratio)
  return context
}

/**
 * Returns the pixel ratio. It is lower for tall canvases, because browsers limit their height.
 */
function stripRatio(height: number) {
  return Math.min(devicePixelRatio, 16_000 / Math.max(height, 1))
}

function paintRows(
  context: CanvasRenderingContext2D,
  measure: number,
  height: number,
  width: number,
) {
  const { buckets } = DATA.plots.grid
  if (stripLines.length === 0) return
  const image = new ImageData(buckets, stripLines.length)
  const stops = heatStops()
  for (const [row, line] of stripLines.entries()) {
    const values = carried(line, measure)
    for (const [bucket, value] of values.entries())
      image.data.set(pixel(stops, value), (row * buckets + bucket) * 4)
  }
  const small = new OffscreenCanvas(buckets, stripLines.length)
  small.getContext('2d')?.putImageData(image, 0, 0)
  context.imageSmoothingEnabled = false
  context.drawImage(small, GUTTER, 0, width - GUTTER - MARK, stripLines.length * height)
}

function pixel(stops: readonly number[][], value: number | null) {
  if (value === null) return [0, 0, 0, 0]
  return [...heat(stops, stripTop === 0 ? 0 : value / stripTop), 255]
}

/**
 * Returns the values of a line. A bucket without a sample repeats the previous value if one of the
 * next eight buckets has a value.
 */
function carried(line: Line, measure: number) {
  const { buckets } = DATA.plots.grid
  let last: number | null = null
  return Array.from({ length: buckets }, (_, bucket) => {
    const value = valueAt(line, measure, bucket)
    if (value === null || isValue(value)) last = value
    return isValue(value) || hasMore(line, measure, bucket) ? last : null
  })
}

/**
 * Reports whether one of the next eight buckets has a value, and no gap comes before the value.
 */
function hasMore(line: Line, measure: number, bucket: number) {
  for (let next = bucket + 1; next <= bucket + 8; next++) {
    const value = valueAt(line, measure, next)
    if (value === null) return false
    if (isValue(value)) return true
  }
  return false
}

/**
 * Marks the rows of outliers, and writes the names of rows. If there is not enough room for all
 * names, outliers are named first.
 */
function nameRows(
  context: CanvasRenderingContext2D,
  measure: number,
  height: number,
  width: number,
) {
  context.font = '11px system-ui, sans-serif'
  context.textBaseline = 'middle'
  const rows = [...stripLines.entries()].map(([row, line]) => ({
    row,
    line,
    isOut: line.marks[measure] === true,
  }))
  const taken = new Set<number>()
  for (const { row, line, isOut } of rows.sort((a, b) => Number(b.isOut) - Number(a.isOut))) {
    const middle = row * height + height / 2
    context.fillStyle = colour(isOut ? 'out' : 'soft')
    if (isOut)
      context.fillRect(
        width - MARK + 3,
        middle - Math.max(height - 1, 3) / 2,
        MARK - 3,
        Math.max(height - 1, 3),
      )
    const place = Math.floor(middle / 12)
    const isFree = height >= 12 || ![place - 1, place, place + 1].some((at) => taken.has(at))
    if (!isFree) continue
    taken.add(place)
    context.fillText(fitted(context, nameOf(line)), 0, Math.max(middle, 6))
  }
}

function fitted(context: CanvasRenderingContext2D, text: string) {
  let short = text
  while (short.length > 4 && context.measureText(short).width > GUTTER - 8)
    short = `${short.slice(0, -2)}…`
  return short
}

function paintScale(measure: number) {
  const { unit, factor } = measureUnit(measure)
  element('least').textContent = '0'
  element('most').textContent = `${plain(stripTop * factor)} ${unit}`
  const canvas = elementOf(HTMLCanvasElement, 'scale')
  canvas.width = 128
  canvas.height = 1
  const context = canvas.getContext('2d')
  const stops = heatStops()
  for (let at = 0; at < 128; at++) {
    if (context === null) return
    context.fillStyle = `rgb(${heat(stops, at / 127).join(' ')})`
    context.fillRect(at, 0, 1, 1)
  }
  const marked = stripLines.filter((line) => line.marks[measure]).length
  const note =
    marked === 0
      ? 'No mean is an outlier.'
      : `The means of ${counted(marked, 'line')} are outliers and marked at the right.`
  element('strip-note').textContent = `${note} Click a row to show only its pod.`
}

function tellStrip(x: number, y: number) {
  const line = stripLines[rowAt(y)]
  const part = (x - GUTTER) / (stripCanvas().clientWidth - GUTTER - MARK)
  if (line === undefined || part < 0 || part > 1) return
  const { buckets, width } = DATA.plots.grid
  const bucket = Math.min(Math.floor(part * buckets), buckets - 1)
  const measure = measureIndex()
  const value = valueAt(line, measure, bucket)
  const { unit, factor } = measureUnit(measure)
  const words = isValue(value) ? `${plain(value * factor)} ${unit}` : 'no sample'
  element('strip-note').textContent = `${nameOf(line)} at ${timeInRun(bucket * width)}: ${words}`
}
