// The activity over time: a row for each pod or MPI rank, or for a group of them, time from left to
// right, and in each interval the parts of the states as colours, one above the other.

import {
  type ActivityData,
  type ActivityLine,
  type Means,
  type Percent,
  STATES,
  type State,
} from '../../first-screen/activity-data.ts'
import { classed, element, elementOf, inside, made } from '../elements.ts'
import { timeInRun } from '../format.ts'
import { colour } from '../theme/colours.ts'
import { timeTicks } from '../time-ticks.ts'

/** The word for each state, and the name of its colour. */
const LOOKS: Readonly<Record<State, { readonly word: string; readonly colour: string }>> = {
  computing: { word: 'computing', colour: 'computing' },
  mpi: { word: 'in MPI', colour: 'in-mpi' },
  waiting: { word: 'waiting for a processor', colour: 'waiting' },
  storage: { word: 'waiting for storage', colour: 'stored' },
  idle: { word: 'idle', colour: 'idle' },
}

/** The looks in the order of the data; the first one is drawn at the bottom of a row. */
const DRAWN = STATES.map((state) => LOOKS[state])

/** Returns the word for each state. A process that waits in calls of MPI may run. */
function stateWords(): readonly string[] {
  const isRunning = (state: State) => state === 'computing' && activity.basis === 'processors'
  return STATES.map((state) => (isRunning(state) ? 'running' : LOOKS[state].word))
}

const AXIS = 18
/** The height of all rows together, if the rows are neither too high nor too low. */
const ROOM = 230
const [MIN_HEIGHT, MAX_HEIGHT] = [3, 36]
/** The height of the row of a single pod or rank among groups. */
const NAMED_HEIGHT = 16
/** The height of a name. */
const TEXT = 12
/** The least height of a row in which the parts are one above the other, and not mixed. */
const PARTS_HEIGHT = 9

let activity: ActivityData = {
  basis: 'mpi',
  buckets: { count: 1, width: 1 },
  means: [],
  lines: [],
}

/** Sets the data, and fills the key and the table. */
export function startActivity(data: ActivityData) {
  activity = data
  element('activity').hidden = data.lines.length === 0
  if (data.lines.length === 0) return
  inside('activity', '.states').append(...stateKeys(data.means))
  const canvas = elementOf(HTMLCanvasElement, 'activity-rows')
  canvas.setAttribute('aria-label', `Activity over time. On average: ${describe(data.means)}.`)
  canvas.addEventListener('pointermove', (event) => tell(event.offsetX, event.offsetY))
  canvas.addEventListener('pointerleave', () => tell(-1, -1))
  tell(-1, -1)
  startTable(data.lines)
}

function describe(percents: readonly (number | null | undefined)[]) {
  const parts = stateWords().flatMap((word, state) => {
    const percent = percents[state] ?? 0
    return percent < 0.5 ? [] : `${word} ${Math.round(percent)} %`
  })
  return parts.length === 0 ? 'not known' : parts.join(', ')
}

function stateKeys(means: Means) {
  const rest = 100 - means.reduce<number>((sum, mean) => sum + (mean ?? 0), 0)
  const unknown = classed('li', 'unknown')
  unknown.append(made('i'), `not known ${Math.round(rest)} %`)
  const keys = stateWords().flatMap((word, state) => {
    const mean = means[state] ?? 0
    if (mean === 0) return []
    const key = classed('li', DRAWN[state]?.colour ?? '')
    key.append(made('i'), `${word} ${mean < 0.5 ? '< 1' : Math.round(mean)} %`)
    return key
  })
  return rest < MIN_REST ? keys : [...keys, unknown]
}

/** From this percent of unknown time, the key has it; less is an error of rounding. */
const MIN_REST = 3

/** Fills the table with the same numbers, which needs no pointer and no colours. */
function startTable(lines: readonly ActivityLine[]) {
  const shown = [...stateWords().entries()].filter(([state]) =>
    lines.some(({ percents }) => percents[state]?.some((percent) => (percent ?? 0) > 0)),
  )
  const place = inside('activity', 'table')
  const [head, titles, body] = [made('thead'), made('tr'), made('tbody')]
  titles.append(...['', ...shown.map(([, word]) => word)].map((word) => made('th', word)))
  titles.firstElementChild?.replaceChildren(activity.basis === 'mpi' ? 'Rank' : 'Pod')
  head.append(titles)
  body.append(
    ...lines.map((line) => {
      const row = made('tr')
      const cells = shown.map(([state]) => {
        const mean = line.means[state] ?? null
        return made('td', mean === null ? '–' : `${Math.round(mean)} %`)
      })
      const name = made('th', line.name)
      name.scope = 'row'
      row.append(name, ...cells)
      return row
    }),
  )
  place.append(head, body)
}

/** A row of the canvas, with its place in pixels. */
interface Row {
  readonly line: ActivityLine
  readonly top: number
  readonly height: number
}

/** Returns the rows; among groups, those of single pods or ranks are higher, to be seen. */
function rowsOf({ lines }: ActivityData): readonly Row[] {
  const usual = Math.floor(ROOM / lines.length)
  const height = Math.min(Math.max(usual, MIN_HEIGHT), MAX_HEIGHT)
  const isGrouped = lines.some(({ count }) => count > 1)
  let bottom = 0
  return lines.map((line) => {
    const own = isGrouped && line.count === 1 ? Math.max(height, NAMED_HEIGHT) : height
    bottom += own
    return { line, top: bottom - own, height: own }
  })
}

function heightOf(rows: readonly Row[]) {
  return rows.reduce((sum, { height }) => sum + height, 0)
}

/** Returns the width of the names, in pixels. */
function gutter(width: number) {
  return width < 600 ? 84 : 130
}

/** Draws the rows, in the colours of the theme and the width of the page. */
export function showActivity() {
  if (activity.lines.length === 0) return
  const rows = rowsOf(activity)
  const canvas = elementOf(HTMLCanvasElement, 'activity-rows')
  const [width, height] = [canvas.clientWidth, heightOf(rows) + AXIS]
  const ratio = Math.max(devicePixelRatio, 1)
  canvas.width = Math.max(Math.round(width * ratio), 1)
  canvas.height = Math.round(height * ratio)
  canvas.style.height = `${height}px`
  const context = canvas.getContext('2d')
  if (context === null) return
  context.scale(ratio, ratio)
  const colours = DRAWN.map((look) => colour(look.colour))
  const empty = colour('wash')
  for (const row of rows) paintRow(context, row, width, { colours, empty })
  nameRows(context, rows, width)
  paintAxis(context, heightOf(rows), width)
}

interface Colours {
  /** The colours of the states. */
  readonly colours: readonly string[]
  /** The colour of time of which nothing is known. */
  readonly empty: string
}

function paintRow(
  context: CanvasRenderingContext2D,
  { line, top, height }: Row,
  width: number,
  { colours, empty }: Colours,
) {
  const left = gutter(width)
  const { count } = activity.buckets
  const isMixed = height < PARTS_HEIGHT
  const shown = isMixed ? height : height - Math.min(height / 6, 3)
  for (let bucket = 0; bucket < count; bucket += 1) {
    const from = Math.round(left + ((width - left) * bucket) / count)
    const to = Math.round(left + ((width - left) * (bucket + 1)) / count)
    const parts = line.percents.map((own) => (own[bucket] ?? 0) / 100)
    context.fillStyle = isMixed ? mixed(colours, parts, empty) : empty
    context.fillRect(from, top, to - from, shown)
    if (!isMixed) paintParts(context, parts, colours, { from, to, top, height: shown })
  }
}

/** Draws the parts of an interval one above the other. */
function paintParts(
  context: CanvasRenderingContext2D,
  parts: readonly number[],
  colours: readonly string[],
  { from, to, top, height }: { from: number; to: number; top: number; height: number },
) {
  let bottom = top + height
  for (const [state, part] of parts.entries()) {
    const next = Math.max(bottom - height * part, top)
    context.fillStyle = colours[state] ?? ''
    context.fillRect(from, next, to - from, bottom - next)
    bottom = next
  }
}

/** Returns the mean of the colours; the rest of the parts has the colour of empty time. */
function mixed(colours: readonly string[], parts: readonly number[], empty: string) {
  const rest = 1 - parts.reduce((sum, part) => sum + part, 0)
  const all = [...parts.map((part, state) => [colours[state] ?? empty, part] as const)]
  const sums = [...all, [empty, Math.max(rest, 0)] as const].reduce(
    (sum, [hex, part]) => channels(hex).map((value, index) => (sum[index] ?? 0) + value * part),
    [0, 0, 0],
  )
  return `rgb(${sums.map((value) => Math.round(Math.min(value, 255))).join(' ')})`
}

/** Returns the red, green and blue of a colour such as #2f6f9f. */
function channels(hex: string): readonly number[] {
  const number = Number.parseInt(hex.slice(1), 16)
  return [number >> 16, (number >> 8) & 255, number & 255]
}

/** Writes the names of rows, as many as there is room for. */
function nameRows(context: CanvasRenderingContext2D, rows: readonly Row[], width: number) {
  context.font = '11px system-ui, sans-serif'
  context.textBaseline = 'middle'
  context.textAlign = 'left'
  context.fillStyle = colour('soft')
  let free = 0
  for (const { line, top, height } of rows) {
    const middle = Math.max(top + height / 2 - 1, TEXT / 2)
    if (middle - TEXT / 2 < free) continue
    free = middle + TEXT / 2
    context.fillText(fitted(context, line.name, gutter(width) - 8), 0, middle)
  }
}

function fitted(context: CanvasRenderingContext2D, text: string, room: number) {
  let short = text
  while (short.length > 4 && context.measureText(short).width > room)
    short = `${short.slice(0, -2)}…`
  return short
}

function paintAxis(context: CanvasRenderingContext2D, top: number, width: number) {
  const left = gutter(width)
  const end = activity.buckets.count * activity.buckets.width
  context.textBaseline = 'top'
  for (const at of timeTicks(end, (width - left) / 70)) {
    const x = left + ((width - left) * at) / end
    context.fillRect(Math.min(x, width - 1), top, 1, 3)
    const text = timeInRun(at)
    const half = context.measureText(text).width / 2
    context.fillText(text, Math.min(Math.max(x - half, left), width - 2 * half), top + 5)
  }
}

/** Says what the row under the pointer did; with no row there, how to read the rows. */
function tell(x: number, y: number) {
  const width = elementOf(HTMLCanvasElement, 'activity-rows').clientWidth
  const line = rowsOf(activity).find(({ top, height }) => y >= top && y < top + height)?.line
  const part = (x - gutter(width)) / (width - gutter(width))
  const { count, width: seconds } = activity.buckets
  const bucket = Math.min(Math.floor(part * count), count - 1)
  const percents: readonly (Percent | undefined)[] =
    line?.percents.map((own) => own[Math.max(bucket, 0)]) ?? []
  const [from, to] = [bucket, bucket + 1].map((at) => timeInRun(at * seconds))
  inside('activity', 'output').textContent =
    line === undefined || part < 0
      ? hint()
      : `${line.name} from ${from} to ${to}: ${describe(percents)}`
}

function mpiHint() {
  const isWaitingKnown = (activity.means[STATES.indexOf('waiting')] ?? null) !== null
  const waiting = isWaitingKnown ? ', without' : ' and contains'
  return (
    `Computing is all time outside of MPI${waiting} the time of waiting for a processor. ` +
    'In MPI, a rank may wait for one that has no processor: the factors above count this for the ' +
    'platform. Nothing is known where a row is empty, such as before MPI_Init.'
  )
}

function hint() {
  const noun = activity.basis === 'mpi' ? 'ranks' : 'pods'
  const isGrouped = activity.lines.some(({ count }) => count > 1)
  const sentences = [
    activity.basis === 'mpi' ? mpiHint() : 'Each row has the parts of the time of a pod.',
    isGrouped ? `A row of several ${noun} is their mean.` : '',
    isGrouped && activity.lines[0]?.count === 1
      ? `The first rows are ${noun} that findings name.`
      : '',
  ]
  return sentences.join(' ').trim()
}
