import { styleText } from 'node:util'

/** A recorded pod and the decision on it: a row of the summary. */
export interface Answered {
  /** The operator of the workload, `built-in` for Kubernetes itself, `-` for a bare pod. */
  readonly operator: string
  /** The kind of the workload, or of the pod's owner; `Pod` if nothing owns the pod. */
  readonly kind: string
  readonly outcome: string
  /** The metrics of the injected observers. */
  readonly observers: readonly string[]
  /** Why the pod has no observers; empty if it has observers. */
  readonly reason: string
}

/** The metadata of a pod in an AdmissionReview. */
export interface Metadata {
  readonly labels?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly { readonly kind: string }[]
}

interface Creator {
  readonly label: string
  readonly value?: string
  readonly operator: string
  readonly kind: string
}

const BUILT_IN = 'built-in'
const BARE = '-'

/**
 * The labels that show which operator or controller a recorded pod belongs to. The first match
 * decides, because pods of the Metrics Operator also have the labels of JobSet.
 */
const CREATORS: readonly Creator[] = [
  { label: 'app', value: 'flux-operator', operator: 'Flux', kind: 'MiniCluster' },
  { label: 'metricset-name', operator: 'Metrics', kind: 'MetricSet' },
  { label: 'jobset.sigs.k8s.io/jobset-name', operator: 'JobSet', kind: 'JobSet' },
  { label: 'training.kubeflow.org/job-name', operator: 'MPI', kind: 'MPIJob' },
  { label: 'visitorssite_cr', operator: 'lolcow', kind: 'Lolcow' },
  { label: 'pod-template-hash', operator: BUILT_IN, kind: 'Deployment' },
]

/** Returns the operator and the kind of workload that a pod belongs to. */
export function creatorOf({ labels = {}, ownerReferences = [] }: Metadata) {
  const creator = CREATORS.find(
    ({ label, value }) => label in labels && (value === undefined || labels[label] === value),
  )
  if (creator !== undefined) return creator
  const [owner] = ownerReferences
  return owner === undefined
    ? { operator: BARE, kind: 'Pod' }
    : { operator: BUILT_IN, kind: owner.kind }
}

const HEADER = ['OPERATOR', 'KIND', 'OUTCOME', 'OBSERVERS', 'REASON']

/** Returns the sort key of a row. Operators come first, then built-in kinds, then bare pods. */
function sortKey({ operator, kind }: Answered): string {
  if (operator === BARE) return `2 ${kind}`
  return operator === BUILT_IN ? `1 ${kind}` : `0 ${operator} ${kind}`
}

function compareRows(one: Answered, other: Answered): number {
  const [key, otherKey] = [sortKey(one), sortKey(other)]
  return Number(key > otherKey) - Number(key < otherKey)
}

/**
 * Renders the summary: a header, then a line for each pod. One blank separates the columns; with
 * two blanks, the longest rows would not fit in a terminal of 80 columns. `styleText`
 * adds colours only if standard output is a terminal and NO_COLOR is not set.
 */
export function renderSummary(answered: readonly Answered[]): string {
  const rows = answered
    .toSorted(compareRows)
    .map(({ operator, kind, outcome, observers, reason }) => [
      operator,
      kind,
      outcome,
      observers.join(','),
      reason,
    ])
  const widths = HEADER.map((_, column) =>
    Math.max(...[HEADER, ...rows].map((row) => row[column]?.length ?? 0)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(' ')
      .trimEnd()
  const colour = (row: readonly string[]) => (row[2] === 'injected' ? 'green' : 'yellow')
  return [
    styleText('bold', line(HEADER)),
    ...rows.map((row) => styleText(colour(row), line(row))),
  ].join('\n')
}
