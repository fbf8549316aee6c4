import { styleText } from 'node:util'
import { Help } from 'commander'
import { printable } from '../../src/core/text/printable.ts'
import type { TextBlock, TextCell, TextTable, Tone } from '../../src/lib/output-format.ts'

const STYLES = {
  heading: 'bold',
  good: 'green',
  bad: 'red',
  doubtful: 'yellow',
  minor: 'gray',
} as const satisfies Record<Tone, unknown>

/** The number of blanks between two columns. */
const GAP = 2

/**
 * The number of blanks before each line of a paragraph except the first. A message can quote a pod
 * or a log, and the blanks prevent quoted text from looking like a new message.
 */
const HANGING = 2

/** Wraps tables in the same way as Commander wraps the help of the verbs. */
const help = Object.assign(new Help(), { minWidthToWrap: 24 })

/** How text is shown. */
export interface TextStyle {
  /** The width of the terminal in characters; if omitted, no line is wrapped. */
  readonly width?: number | undefined
  /** Whether tones are shown as colours. */
  readonly isColoured?: boolean
}

/**
 * Formats paragraphs and tables as printable lines. Only the last column of a table is wrapped, and
 * only between words.
 */
export function formatText(
  blocks: readonly TextBlock[],
  { width = Number.POSITIVE_INFINITY, isColoured = false }: TextStyle = {},
): readonly string[] {
  return blocks.flatMap((block) =>
    typeof block === 'object' && 'rows' in block
      ? formatTable(block, width, isColoured)
      : indentOthers(wrapCell(block, width - HANGING, isColoured), HANGING),
  )
}

function formatTable(
  { rows, indent }: TextTable,
  width: number,
  isColoured: boolean,
): readonly string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length - 1))
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(0, ...rows.map((row) => textOf(row[column]).length)),
  )
  const start = widths.reduce((sum, one) => sum + one + GAP, indent)
  return rows.flatMap((row) => {
    const before = widths.map((one, column) => {
      const missing = one + GAP - textOf(row[column]).length
      return `${coloured(textOf(row[column]), row[column], isColoured)}${' '.repeat(missing)}`
    })
    const [first = '', ...others] = indentOthers(
      wrapCell(row[columns], width - start, isColoured),
      start,
    )
    return [`${' '.repeat(indent)}${before.join('')}${first}`.trimEnd(), ...others]
  })
}

function indentOthers([first = '', ...others]: readonly string[], blanks: number): string[] {
  return [first, ...others.map((line) => `${' '.repeat(blanks)}${line}`)]
}

function wrapCell(
  cell: TextCell | undefined,
  width: number,
  isColoured: boolean,
): readonly string[] {
  const lines = help.boxWrap(textOf(cell), width).split('\n')
  return lines.map((line) => coloured(line, cell, isColoured))
}

function textOf(cell: TextCell = ''): string {
  return printable(typeof cell === 'string' ? cell : cell.text)
}

/** Shows a text in the tone of its cell, if tones are shown. */
function coloured(text: string, cell: TextCell = '', isColoured: boolean): string {
  if (!isColoured || typeof cell === 'string' || text === '') return text
  return styleText(STYLES[cell.tone], text, { validateStream: false })
}
