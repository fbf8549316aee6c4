import type { LineUnit } from '../../src/runs/top/pods.ts'
import type { RowsOptions } from '../archive/storage/stored-run-files.ts'
import type { WorkloadOptions } from '../shared/workload-pods.ts'

/** The formats of the output of --once: a table for people, JSON and CSV for programs. */
export type TopFormat = 'table' | 'json' | 'csv'

export interface TopOptions extends WorkloadOptions, RowsOptions {
  readonly by: LineUnit
  /** The names of more columns to show. */
  readonly column?: readonly string[]
  /** The key of the column to sort by, or `pod`. */
  readonly sort?: string
  readonly once?: boolean
  readonly output: TopFormat
  /** The most logs that are followed at a time. */
  readonly parallel: number
  /** How many times as fast as the run recorded logs are shown. */
  readonly speed?: number
}
