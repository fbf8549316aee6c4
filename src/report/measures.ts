import type { ProcessSample } from '../log/columns.ts'

/** A measure of a process that the page plots over time. */
export interface Measure {
  readonly key: string
  readonly title: string
  readonly unit: string
  /** Null if the counter could not be read. */
  readonly of: (sample: ProcessSample) => number | null
}

const scaled = (value: number | null, factor: number) => (value === null ? null : value * factor)

export const MEASURES = [
  { key: 'cpu', title: 'CPU', unit: '% of a core', of: (s) => s.percent_cpu },
  { key: 'memory', title: 'Resident memory', unit: 'MiB', of: (s) => scaled(s.rss, 1 / 1024) },
  { key: 'read', title: 'Read from storage', unit: 'KiB/s', of: (s) => s.kb_rd_s },
  { key: 'written', title: 'Written to storage', unit: 'KiB/s', of: (s) => s.kb_wr_s },
  { key: 'voluntary', title: 'Voluntary context switches', unit: '/s', of: (s) => s.cswch_s },
  { key: 'involuntary', title: 'Involuntary context switches', unit: '/s', of: (s) => s.nvcswch_s },
] as const satisfies readonly Measure[]
