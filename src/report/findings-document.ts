import { findFindings, type RunFinding } from '../findings/evaluate.ts'
import { ranksIn } from './data.ts'
import type { CollectedRun } from './gather.ts'
import { listNotices } from './notices.ts'

/** The version of the document. It changes if a field changes its meaning or is removed. */
const API_VERSION = 'ridealong.dev/v1alpha1'

/** Builds the document of `report --output json`: the findings for programs. */
export function findingsDocument(run: CollectedRun, title: string) {
  const { rankOf, ranks } = ranksIn(run)
  const { findings, explained, notChecked } = findFindings(run.evidence, rankOf, ranks)
  return {
    apiVersion: API_VERSION,
    kind: 'Findings',
    title,
    ranks,
    samples: run.samples,
    logs: run.sources.size,
    findings: findings.map(findingOf),
    explained,
    notChecked,
    notices: listNotices(run, [], []),
  }
}

/** The document of `report --output json`. */
export type FindingsDocument = ReturnType<typeof findingsDocument>

/** Returns a finding with rounded numbers, and without `isRelative`, which only the page needs. */
function findingOf({ isRelative: _, lost, ranks, plot, ...finding }: RunFinding) {
  return {
    ...finding,
    secondsLost: rounded(lost),
    ranks: ranks.map(({ rank, things, also = [], lost: own, facts }) => ({
      rank,
      secondsLost: rounded(own),
      things: [...things, ...also],
      facts: facts.map((fact) => ({ ...fact, value: rounded(fact.value) })),
    })),
    column: plot,
  }
}

/** Rounds to six significant digits, more than a measurement has. */
function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(6))
}
