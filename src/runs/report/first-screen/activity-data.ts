import type { Efficiency } from '../../efficiency/run-efficiency.ts'
import type { Buckets } from './steps.ts'

/** What a pod can do, in the order in which the page draws it. */
export const STATES = ['computing', 'mpi', 'waiting', 'storage', 'idle'] as const

export type State = (typeof STATES)[number]

/** Percent of a bucket, as integers; null if it is not known. */
export type Percent = number | null

/** What the pods did over time. */
export interface ActivityData {
  /** Whether a line is a process of MPI or a pod. */
  readonly basis: Efficiency['basis']
  readonly buckets: Buckets
  /** Of each state, the percent of the time of all pods together, as the key shows it. */
  readonly means: Means
  readonly lines: readonly ActivityLine[]
}

/** Of each state, a percent of the whole time, from the efficiency; null if it is not known. */
export type Means = readonly (number | null)[]

/** What a pod, a process of MPI, or the mean of several of them did over time. */
export interface ActivityLine {
  /** The name for people, such as `pod 3` or `MPI ranks 0 to 73`. */
  readonly name: string
  /** The number of pods or processes. */
  readonly count: number
  /** Of each state, the percent of the time of each bucket, in the order of `STATES`. */
  readonly percents: readonly (readonly Percent[])[]
  readonly means: Means
}
