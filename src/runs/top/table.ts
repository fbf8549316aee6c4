import stringWidth from 'string-width'
import { printable } from '../../core/text/printable.ts'
import type { TopColumn } from './columns.ts'
import { formatState, formatValue, titleWithUnit } from './format-value.ts'
import type { LineUnit, TopLine } from './pods.ts'

/** A column of texts, all of which are printable. */
export interface TextColumn {
  readonly title: string
  readonly isRight: boolean
  readonly cells: readonly string[]
  /** The key of a column of values; undefined for the others, which are texts. */
  readonly key?: string
}

/** The most characters of a title, or of a cell that is not a value. */
const MAX_LENGTH = 40

/** Builds the texts of a table: pod, program, state, worst finding, values, and node. */
export function buildTable(
  lines: readonly TopLine[],
  columns: readonly TopColumn[],
  unit: LineUnit,
): readonly TextColumn[] {
  const texts = (title: string, textOf: (line: TopLine) => string): TextColumn => ({
    title,
    isRight: false,
    cells: lines.map((line) => printable(textOf(line), MAX_LENGTH)),
  })
  return [
    texts('POD', ({ label }) => label),
    ...(unit === 'program' ? [texts('PROGRAM', ({ program }) => program ?? '')] : []),
    texts('STATE', ({ state }) => formatState(state)),
    texts('FINDING', ({ findings }) => findings[0] ?? ''),
    ...columns.map((column, index) => ({
      title: printable(titleWithUnit(column), MAX_LENGTH),
      isRight: true,
      key: column.key,
      cells: lines.map(({ values }) => formatValue(column, values[index] ?? null)),
    })),
    texts('NODE', ({ node }) => node ?? ''),
  ]
}

/** Returns the width of the widest text, in columns of a terminal. */
export function widestOf(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, textWidth(text)), 0)
}

/** Returns the columns of a terminal that a printable text takes. */
export function textWidth(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text)
}

/** Fills a text with blanks up to a width. A longer text is not cut. */
export function pad(text: string, width: number, isRight: boolean): string {
  const blanks = ' '.repeat(Math.max(0, width - textWidth(text)))
  return isRight ? `${blanks}${text}` : `${text}${blanks}`
}

/** Cuts a printable text so that it takes at most this many columns of a terminal. */
export function cutToWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let result = ''
  let used = 0
  for (const { segment } of SEGMENTER.segment(text)) {
    used += textWidth(segment)
    if (used > width) return result
    result += segment
  }
  return result
}

/** Divides a printable text into lines, at its blanks. A longer word has a line of its own. */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    const fits = textWidth(longer) <= width
    if (!fits && line !== '') lines.push(line)
    line = fits ? longer : word
  }
  return [...lines, line]
}

const SEGMENTER = new Intl.Segmenter()

/** Formats the whole table as lines of text, for a script. */
export function formatTable(columns: readonly TextColumn[]): readonly string[] {
  const rows = columns[0]?.cells.length ?? 0
  const widths = columns.map(({ title, cells }) => widestOf([title, ...cells]))
  const lineOf = (textOf: (column: TextColumn) => string) =>
    columns
      .map((column, index) => pad(textOf(column), widths[index] ?? 0, column.isRight))
      .join(GAP)
      .trimEnd()
  return [
    lineOf(({ title }) => title),
    ...Array.from({ length: rows }, (_, row) => lineOf(({ cells }) => cells[row] ?? '')),
  ]
}

/** The blanks between two columns. */
export const GAP = '  '
