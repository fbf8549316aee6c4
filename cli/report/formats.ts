import { OUTPUT_FORMATS } from '../../src/lib/output-format.ts'

/** The formats of a report: those of every verb, and a page. */
export const REPORT_FORMATS = [...OUTPUT_FORMATS, 'html'] as const

export type ReportFormat = (typeof REPORT_FORMATS)[number]

/** Returns the format that the ending of a file name stands for; text if it stands for none. */
export function formatOfFile(file: string): ReportFormat {
  const [, ending = ''] = /\.([a-z]+)$/.exec(file.toLowerCase()) ?? []
  if (ending === 'htm') return 'html'
  if (ending === 'yml') return 'yaml'
  return REPORT_FORMATS.find((format) => format === ending) ?? 'text'
}
