import { alterations } from '../core/alterations.ts'
import type { Catalog } from '../core/catalog.ts'
import { type Fields, fieldsOrNone, listOrNone, textOf } from '../core/json.ts'
import { REASONS, type Reason } from '../core/reasons.ts'
import { injectedBefore, readStatus } from '../core/status.ts'
import { type Finding, find, stop } from './finding.ts'

/** What became of a pod that is there: what its status says, and whether its observers still are as they were. */
export type CameOut =
  | { readonly outcome: 'injected'; readonly metrics: readonly string[]; readonly counters: string }
  | { readonly outcome: 'altered'; readonly problems: readonly string[] }
  | { readonly outcome: 'left'; readonly reason: Reason; readonly message: string }
  | { readonly outcome: 'silent' }

/** Reads what became of a pod. */
export function cameOut(pod: Fields): CameOut {
  const annotations = fieldsOrNone(fieldsOrNone(pod.metadata).annotations)
  const status = readStatus(annotations)
  const metrics = injectedBefore(annotations)
  if (metrics.length > 0) {
    const problems = alterations(fieldsOrNone(pod.spec), metrics)
    const counters = textOf(status?.counters) ?? 'unknown'
    return problems.length > 0
      ? { outcome: 'altered', problems }
      : { outcome: 'injected', metrics, counters }
  }
  const reason = Object.keys(REASONS).find((word): word is Reason => word === status?.reason)
  if (status?.outcome !== 'left' || reason === undefined) return { outcome: 'silent' }
  return { outcome: 'left', reason, message: textOf(status.message) ?? REASONS[reason].sentence }
}

/** What was really created, as findings. */
export function createdFindings(pod: Fields, out: CameOut, catalog: Catalog): readonly Finding[] {
  return [statusFinding(out), ...catalogFinding(pod, catalog), ...containerFindings(pod)]
}

function statusFinding(out: CameOut): Finding {
  switch (out.outcome) {
    case 'injected':
      return find('status', 'ok', `injected ${out.metrics.join(', ')}; counters: ${out.counters}`)
    case 'altered':
      return stop('status', 'altered', `injected, and altered since: ${out.problems.join('; ')}`)
    case 'left':
      return stop('status', out.reason, `left: ${out.message}`)
    case 'silent':
      return find('status', 'look', 'the pod carries none')
  }
}

function catalogFinding(pod: Fields, { revision }: Catalog): readonly Finding[] {
  const then = readStatus(fieldsOrNone(fieldsOrNone(pod.metadata).annotations))?.catalog
  if (then === undefined || then === revision) return []
  const sentence = `the pod was made with catalog ${String(then)}, and is explained with ${revision}; --catalog and --observer-image name another`
  return [find('catalog', 'look', sentence)]
}

/** Containers that the kubelet cannot start or has to start again. */
function containerFindings(pod: Fields): readonly Finding[] {
  const { initContainerStatuses, containerStatuses } = fieldsOrNone(pod.status)
  const statuses = [...listOrNone(initContainerStatuses), ...listOrNone(containerStatuses)]
  return statuses.map(fieldsOrNone).flatMap(({ name, state, restartCount }) => {
    const waiting = fieldsOrNone(fieldsOrNone(state).waiting)
    const reason = textOf(waiting.reason) ?? ''
    const isHeld = reason !== '' && !NORMAL.has(reason)
    const restarts = typeof restartCount === 'number' ? restartCount : 0
    const why = [reason, textOf(waiting.message)].filter((text) => text !== undefined).join(': ')
    if (isHeld) return [find(`container ${String(name)}`, 'look', `does not start: ${why}`)]
    return restarts > 0
      ? [find(`container ${String(name)}`, 'look', `was started again ${restarts} times`)]
      : []
  })
}

/** What every container goes through (kubernetes pkg/kubelet/kubelet_pods.go). */
const NORMAL: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing'])
