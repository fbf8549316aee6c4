import { formatList } from '../../lib/format-list.ts'

/** The formats of other tools, with the endings of file names by which they are recognized. */
const ENDINGS = {
  collapsed: ['.collapsed', '.folded'],
  speedscope: ['.speedscope.json'],
  pprof: ['.pb.gz', '.pprof'],
  'chrome-trace': ['.trace.json'],
  parquet: ['.parquet'],
} as const satisfies Record<string, readonly string[]>

export type FormatName = keyof typeof ENDINGS

/** The formats that are one file of a whole run. Parquet has a file for each section. */
export type OneFileFormat = Exclude<FormatName, 'parquet'>

/** The names of the formats, in the order of the help. */
export const FORMAT_NAMES = Object.keys(ENDINGS) as readonly FormatName[]

/** Returns the format that the ending of a file name stands for; undefined if there is none. */
export function formatOfFile(file: string): FormatName | undefined {
  const name = file.toLowerCase()
  return FORMAT_NAMES.find((format) => ENDINGS[format].some((ending) => name.endsWith(ending)))
}

/** Returns the endings of all formats, such as `.collapsed or .folded for collapsed`. */
export function describeEndings(): string {
  const each = FORMAT_NAMES.map((name) => `${formatList(ENDINGS[name], 'or')} for ${name}`)
  return formatList(each, 'or')
}
