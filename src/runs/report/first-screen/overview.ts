import type { PageData } from '../data.ts'
import type { ShownFinding } from '../findings-data.ts'

/** The most findings that the first screen names. */
const MAX_FINDINGS = 3

/** The data of the first screen, which a browser reads before the other data of the page. */
export interface OverviewData
  extends Pick<PageData, 'duration' | 'samples' | 'logs' | 'factors' | 'unknown' | 'activity'> {
  readonly pods: number
  readonly programs: number
  /** The worst findings, the worst first. */
  readonly worst: readonly WorstFinding[]
  /** The number of the other findings. */
  readonly others: number
}

/** A finding as a line of the first screen. */
export interface WorstFinding
  extends Pick<ShownFinding, 'title' | 'sentence' | 'advice' | 'severity'> {
  /** The pod that lost the most time, and the number of pods. */
  readonly pod: string
  readonly count: number
  /** The time that this pod lost; empty if it is not known. */
  readonly lost: string
}

/** Returns the data of the first screen of a page. */
export function overviewData(page: PageData): OverviewData {
  const { duration, samples, logs, factors, unknown, activity, pods, programs, findings } = page
  const worst = findings.findings.slice(0, MAX_FINDINGS)
  return {
    duration,
    samples,
    logs,
    factors,
    unknown,
    activity,
    pods: pods.length,
    programs: programs.length,
    worst: worst.map(({ title, sentence, advice, severity, rows, more }) => ({
      title,
      sentence,
      advice,
      severity,
      pod: rows[0]?.pod ?? '',
      count: rows.length + more,
      lost: rows[0]?.lost ?? '',
    })),
    others: findings.findings.length - worst.length,
  }
}
