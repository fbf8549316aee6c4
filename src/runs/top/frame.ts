import { printable } from '../../core/text/printable.ts'
import { RULES } from '../findings/rules.ts'
import type { TopColumn } from './columns.ts'
import { titleWithUnit } from './format-value.ts'
import type { LineState, TopLine } from './pods.ts'
import {
  buildTable,
  cutToWidth,
  GAP,
  pad,
  type TextColumn,
  textWidth,
  widestOf,
  wrapText,
} from './table.ts'
import { KEY_HELP, type View } from './view.ts'

/** A part of a line of the screen, with its tone. The text is printable. */
export interface FrameSpan {
  readonly text: string
  readonly tone?: 'heading' | 'selected' | 'minor' | 'doubtful' | 'alarm'
}

/** A line of the screen, which is not wider than the terminal. */
export type FrameLine = readonly FrameSpan[]

/** Everything that a frame shows. */
export interface FrameFacts {
  /** The workload and its namespace. */
  readonly heading: string
  readonly columns: readonly TopColumn[]
  /** All lines, also those that do not match the filter. */
  readonly all: readonly TopLine[]
  /** The lines that match the filter, in the order of the table. */
  readonly lines: readonly TopLine[]
  readonly view: View
  /** How the run goes, in sentences; undefined if it is not known. */
  readonly verdict: string | undefined
  /** Where the time of the run went, in one sentence; undefined if it is not known. */
  readonly time: string | undefined
  /** The efficiency and its factors, one line each. */
  readonly factors: readonly string[]
  /** What is said about processes that make no progress, for people. */
  readonly alarms: readonly string[]
  /** Sentences about the run, such as a broken connection. */
  readonly notices: readonly string[]
}

export interface FrameSize {
  readonly rows: number
  readonly columns: number
}

/** The widths of the columns by title. They only grow, so that the columns stay in their place. */
export type ColumnWidths = Map<string, number>

/** The parts of a frame between the heading and the table. */
export type FrameHead = Pick<FrameFacts, 'verdict' | 'time' | 'factors' | 'alarms'>

/** The number of lines of the screen around the table and its head: three above, one below. */
const AROUND = 4
/** The largest part of the screen that shows how the run goes. */
const VERDICT_PART = 1 / 3
/** The most lines of the screen, and the largest part of them, that show an alarm. */
const MAX_ALARM_LINES = 4
const ALARM_PART = 1 / 4

/** Returns the number of lines of the table that fit on the screen. */
export function tableHeight(head: FrameHead, size: FrameSize): number {
  return Math.max(0, size.rows - AROUND - headLines(head, size).length)
}

/** Returns the lines between the heading and the table. */
function headLines(head: FrameHead, size: FrameSize): readonly FrameLine[] {
  return [...alarmLines(head.alarms, size), ...verdictLines(head, size)]
}

/** Builds the lines of the screen, at most one for each of its rows. */
export function buildFrame(
  facts: FrameFacts,
  size: FrameSize,
  widths: ColumnWidths,
): readonly FrameLine[] {
  const height = tableHeight(facts, size)
  const body = facts.view.isHelp ? helpLines(facts) : tableLines(facts, size, widths)
  const blank = Array.from({ length: Math.max(0, height + 1 - body.length) }, () => [])
  return [
    headLine(facts),
    ...headLines(facts, size),
    orderLine(facts),
    ...body.slice(0, height + 1),
    ...blank,
    footLine(facts),
  ]
    .slice(0, size.rows)
    .map((line) => cutLine(line, size.columns))
}

/**
 * Returns the lines that say how the run goes. If the screen is too low for all factors, only the
 * first ones are shown, of which the others are parts.
 */
function verdictLines(
  { verdict, time, factors }: FrameHead,
  { rows, columns }: FrameSize,
): readonly FrameLine[] {
  const room = Math.floor(rows * VERDICT_PART)
  const sentences = [verdict, time].flatMap((text) => {
    return text === undefined ? [] : wrapText(printable(text), columns)
  })
  const shown = verdict === undefined ? [] : factors
  const lines = shown.flatMap((factor) => wrapIndented(printable(factor), columns))
  return [...sentences, ...lines].slice(0, room).map((text) => [{ text }])
}

/** Wraps a text; all of its lines have the indent of the first one. */
function wrapIndented(text: string, width: number): readonly string[] {
  const indent = ' '.repeat(text.length - text.trimStart().length)
  return wrapText(text.trimStart(), width - indent.length).map((line) => `${indent}${line}`)
}

function headLine({ heading, all }: FrameFacts): FrameLine {
  const pods = new Map(all.map(({ namespace, pod, state }) => [`${namespace}/${pod}`, state]))
  const counted = COUNTED.flatMap(([is, words]) => {
    const count = [...pods.values()].filter((state) => state.is === is).length
    return count === 0 ? [] : [`${count} ${words}`]
  })
  const words = [`${pods.size} ${pods.size === 1 ? 'pod' : 'pods'}`, ...counted].join(', ')
  return [{ text: heading, tone: 'heading' }, { text: `: ${words}` }]
}

const COUNTED: readonly (readonly [LineState['is'], string])[] = [
  ['running', 'running'],
  ['ended', 'ended'],
  ['silent', 'without recent rows'],
  ['waiting', 'without rows yet'],
  ['unread', 'not followed'],
]

/** Returns the lines of the first alarm. The help shows all of them. */
function alarmLines(
  [first, ...others]: readonly string[],
  { rows, columns }: FrameSize,
): readonly FrameLine[] {
  if (first === undefined) return []
  const more = others.length === 0 ? '' : ` (and ${others.length} more: press ?)`
  const lines = wrapText(`${printable(first)}${more}`, columns)
  const most = Math.min(MAX_ALARM_LINES, Math.ceil(rows * ALARM_PART))
  return lines.slice(0, most).map((text) => [{ text, tone: 'alarm' }])
}

function orderLine({ columns, view, all, lines, notices }: FrameFacts): FrameLine {
  const sorted = columns.find(({ key }) => key === view.sort)
  const words = [
    `sorted by ${sorted === undefined ? 'POD' : printable(titleWithUnit(sorted))}`,
    ...(view.isReversed ? ['reversed'] : []),
    ...(view.filter === '' ? [] : [`${lines.length} of ${all.length} lines match the filter`]),
  ].join(', ')
  const [first, ...others] = notices
  const more = others.length === 0 ? '' : ` (and ${others.length} more: press ?)`
  const hasEnded = lines.some(({ state }) => state.is === 'ended')
  return [
    { text: words },
    ...(first === undefined
      ? []
      : [{ text: `; ${printable(first)}${more}`, tone: 'doubtful' } as const]),
    ...(hasEnded ? [{ text: '; ended pods have the values of their last interval' }] : []),
  ]
}

function footLine({ view }: FrameFacts): FrameLine {
  if (view.isTyping) return [{ text: `/${printable(view.filter)}_` }]
  const filter = view.filter === '' ? '' : `  filter: ${printable(view.filter)}`
  const unit = view.unit === 'pod' ? 'programs' : 'pods'
  const keys = `q quit  ? help  s sort  r reverse  / filter  p ${unit}`
  return [{ text: `${keys}${filter}`, tone: 'minor' }]
}

function helpLines({ columns, all, alarms, notices }: FrameFacts): readonly FrameLine[] {
  const keyWidth = widestOf(KEY_HELP.map(([keys]) => keys))
  const titles = columns.map((column) => printable(titleWithUnit(column)))
  const titleSize = widestOf(titles)
  return [
    [{ text: 'Keys', tone: 'heading' }],
    ...KEY_HELP.map(([keys, does]) => [{ text: `  ${pad(keys, keyWidth, false)}${GAP}${does}` }]),
    [{ text: 'Columns', tone: 'heading' }],
    ...columns.map(({ metric, column }, index) => {
      const title = pad(titles[index] ?? '', titleSize, false)
      return [{ text: `  ${title}${GAP}${printable(metric)}: ${printable(column.meaning)}` }]
    }),
    ...findingLines(all),
    ...alarms.map((alarm): FrameLine => [{ text: printable(alarm), tone: 'alarm' }]),
    ...notices.map((notice): FrameLine => [{ text: printable(notice), tone: 'doubtful' }]),
  ]
}

/** Explains the findings of the pods. */
function findingLines(all: readonly TopLine[]): readonly FrameLine[] {
  const names = new Set(all.flatMap(({ findings }) => findings))
  const shown = RULES.filter(({ name }) => names.has(name))
  if (shown.length === 0) return []
  const width = widestOf(shown.map(({ name }) => name))
  return [
    [{ text: 'Findings', tone: 'heading' }],
    ...shown.map(({ name, title }) => [{ text: `  ${pad(name, width, false)}${GAP}${title}` }]),
  ]
}

/** Builds the header of the table, and the lines that fit on the screen. */
function tableLines(
  { columns, lines, view, ...head }: FrameFacts,
  size: FrameSize,
  widths: ColumnWidths,
): readonly FrameLine[] {
  const shown = lines.slice(view.from, view.from + tableHeight(head, size))
  const table = buildTable(shown, columns, view.unit)
  for (const { title, cells } of table) {
    const widest = Math.max(textWidth(title) + 1, widestOf(cells))
    widths.set(title, Math.max(widths.get(title) ?? 0, widest))
  }
  const visible = visibleColumns(table, view.sort, size.columns, widths)
  const header = visible.map((column) => headerSpan(column, view, widths))
  return [
    withGaps(header),
    ...shown.map(({ state }, row) =>
      withGaps(
        visible.map((column) => {
          const text = pad(column.cells[row] ?? '', widths.get(column.title) ?? 0, column.isRight)
          return { text, ...toneOf(state, column) }
        }),
      ),
    ),
  ]
}

function headerSpan(
  { title, key, isRight }: TextColumn,
  view: View,
  widths: ColumnWidths,
): FrameSpan {
  const isSorted =
    key === undefined ? view.sort === undefined && title === 'POD' : key === view.sort
  const isDown = (key === undefined) === view.isReversed
  const words = isSorted ? `${title}${isDown ? '▼' : '▲'}` : title
  const text = pad(words, widths.get(title) ?? 0, isRight)
  return { text, tone: isSorted ? 'selected' : 'heading' }
}

function toneOf(state: LineState, { title }: TextColumn): Pick<FrameSpan, 'tone'> {
  if (title === 'FINDING') return { tone: 'doubtful' }
  if (state.is === 'ended') return { tone: 'minor' }
  return state.is === 'silent' && title === 'STATE' ? { tone: 'doubtful' } : {}
}

function withGaps(spans: readonly FrameSpan[]): FrameLine {
  return spans.flatMap((span, index) => (index === 0 ? [span] : [{ text: GAP }, span]))
}

/**
 * Returns the columns that fit on the screen. If not all columns fit, the first columns of values
 * are left out until the column by which the lines are sorted fits.
 */
function visibleColumns(
  table: readonly TextColumn[],
  sort: string | undefined,
  room: number,
  widths: ColumnWidths,
): readonly TextColumn[] {
  const fixed = table.filter(({ key }, index) => {
    return key === undefined && index < table.length - 1
  })
  const others = table.filter((column) => !fixed.includes(column))
  const sorted = others.findIndex(({ key }) => key !== undefined && key === sort)
  let from = 0
  while (from < sorted && !fits([...fixed, ...others.slice(from, sorted + 1)], room, widths))
    from += 1
  let to = others.length
  while (to > from && !fits([...fixed, ...others.slice(from, to)], room, widths)) to -= 1
  return [...fixed, ...others.slice(from, Math.max(to, from + 1))]
}

function fits(columns: readonly TextColumn[], room: number, widths: ColumnWidths): boolean {
  const used = columns.reduce((sum, { title }) => sum + (widths.get(title) ?? 0) + GAP.length, 0)
  return used - GAP.length <= room
}

function cutLine(line: FrameLine, width: number): FrameLine {
  let room = width
  return line.flatMap((span) => {
    const text = cutToWidth(span.text, room)
    room -= textWidth(text)
    return text === '' ? [] : [{ ...span, text }]
  })
}
