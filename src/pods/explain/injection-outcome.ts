import type { Catalog } from '../../core/catalog.ts'
import { STATUS_KEY } from '../../core/keys.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { findDrift } from '../../core/missed/observer-drift.ts'
import { isReason, REASONS, type Reason } from '../../core/reasons.ts'
import { differencesFrom, listObservers } from '../../core/rules/observer-difference.ts'
import {
  describeLacked,
  injectedBefore,
  type LackedMetric,
  lackedIn,
  readStatus,
  variablesBefore,
} from '../../core/status.ts'
import { type Finding, find, stop } from './finding.ts'

/**
 * The outcome of a pod: the annotation `ridealong.dev/status`, and whether the observers are
 * unchanged. In this file, "status" means this annotation. `silent`: the pod has no valid status
 * and no observers.
 */
export type InjectionOutcome =
  | (Observers & {
      readonly outcome: 'injected'
      readonly counters: string
      /** The requested metrics that the pod lacks. */
      readonly left: readonly LackedMetric[]
      /** Whether the pod's containers were compared with a catalog. */
      readonly isCompared: boolean
    })
  | (Observers & {
      readonly outcome: 'unverified'
      /** The differences between the observers of the pod and the catalog's observers. */
      readonly differences: readonly string[]
    })
  | (Observers & { readonly outcome: 'altered'; readonly problems: readonly string[] })
  | { readonly outcome: 'left'; readonly reason: Reason; readonly message: string }
  | { readonly outcome: 'silent' }

interface Observers {
  readonly metrics: readonly string[]
  /** Whether the status of the pod lists the observers. The status of a copied pod is missing. */
  readonly hasStatus: boolean
}

/**
 * Reads the outcome of a pod. Anyone who can write the pod can write its status, so an observer
 * counts as injected only if its container exists and matches the catalog.
 *
 * @param catalog the catalog to compare containers with; without a catalog, only the names of the
 * containers and `shareProcessNamespace` are checked
 */
export function cameOut(pod: Fields, catalog: Catalog | undefined): InjectionOutcome {
  const annotations = fieldsOrNone(fieldsOrNone(pod.metadata).annotations)
  const metrics = injectedBefore(annotations)
  if (metrics.length > 0) return observed(pod, { metrics, hasStatus: true }, catalog)
  const copied = (annotations[STATUS_KEY] ?? '') === '' ? listObservers(fieldsOrNone(pod.spec)) : []
  if (copied.length > 0) return observed(pod, { metrics: copied, hasStatus: false }, catalog)
  return unclaimed(readStatus(annotations))
}

function observed(
  pod: Fields,
  observers: Observers,
  catalog: Catalog | undefined,
): InjectionOutcome {
  const { metrics } = observers
  const annotations = fieldsOrNone(fieldsOrNone(pod.metadata).annotations)
  const problems = findDrift(fieldsOrNone(pod.spec), metrics, variablesBefore(annotations))
  if (problems.length > 0) return { ...observers, outcome: 'altered', problems }
  const differences = catalog ? differencesFrom(catalog, fieldsOrNone(pod.spec), metrics) : []
  if (differences.length > 0) {
    const sentences = differences.map(({ sentence }) => sentence)
    return { ...observers, outcome: 'unverified', differences: sentences }
  }
  const status = readStatus(annotations)
  const counters = asText(status?.counters) ?? 'unknown'
  const left = lackedIn(status)
  return { ...observers, outcome: 'injected', counters, left, isCompared: catalog !== undefined }
}

function unclaimed(status: Fields | undefined): InjectionOutcome {
  const reason = status?.reason
  if (status?.outcome !== 'left' || !isReason(reason)) return { outcome: 'silent' }
  return { outcome: 'left', reason, message: asText(status.message) ?? REASONS[reason].sentence }
}

/**
 * Returns the catalog to compare a pod's containers with. A guessed catalog is returned only if the
 * pod's status names the revision of that catalog.
 *
 * @param isGuessed whether the catalog may differ from the catalog of the cluster
 */
export function comparable(catalog: Catalog, isGuessed: boolean, pod: Fields): Catalog | undefined {
  if (!isGuessed) return catalog
  const then = readStatus(fieldsOrNone(fieldsOrNone(pod.metadata).annotations))?.catalog
  return then === catalog.revision ? catalog : undefined
}

/** Returns the findings about the created pod: its status, its catalog and its containers. */
export function createdFindings(
  pod: Fields,
  out: InjectionOutcome,
  catalog: Catalog,
): readonly Finding[] {
  return [...statusFindings(out), ...catalogFinding(pod, catalog), ...containerFindings(pod)]
}

function statusFindings(out: InjectionOutcome): readonly Finding[] {
  switch (out.outcome) {
    case 'injected':
      return [
        injectedFinding(out),
        ...out.left.map((left) => find('status', 'look', describeLacked(left))),
        observersFinding(out.isCompared),
      ]
    case 'unverified':
      return [
        out.hasStatus
          ? find('status', 'look', `injected with ${out.metrics.join(', ')}, which is not verified`)
          : copiedFinding(out),
        ...out.differences.map((sentence) => stop('observers', 'observer-differs', sentence)),
      ]
    case 'altered':
      return [
        stop('status', 'altered', `injected, but changed afterwards: ${out.problems.join('; ')}`),
      ]
    case 'left':
      return [stop('status', out.reason, `created without observers: ${out.message}`)]
    case 'silent':
      return [find('status', 'look', 'the pod has none')]
  }
}

function injectedFinding(out: Extract<InjectionOutcome, { outcome: 'injected' }>): Finding {
  if (!out.hasStatus) return copiedFinding(out)
  const said = `injected with ${out.metrics.join(', ')}; counters: ${out.counters}`
  return find('status', 'ok', said)
}

function copiedFinding({ metrics }: Observers): Finding {
  return find('status', 'look', `the pod has none, but it has the observers ${metrics.join(', ')}`)
}

function observersFinding(isCompared: boolean): Finding {
  return isCompared
    ? find('observers', 'ok', "their images and commands match the catalog's")
    : find('observers', 'unknown', `not verified: ${NO_CATALOG}`)
}

/** The explanation why containers were not compared, and how to specify a catalog. */
export const NO_CATALOG =
  "the cluster's catalog could not be read; --catalog and --observer-image specify one"

function catalogFinding(pod: Fields, { revision }: Catalog): readonly Finding[] {
  const then = readStatus(fieldsOrNone(fieldsOrNone(pod.metadata).annotations))?.catalog
  if (then === undefined || then === revision) return []
  const revisions = `the pod was created with catalog ${String(then)}, but explain uses ${revision}`
  const sentence = `${revisions}; --catalog and --observer-image specify another one`
  return [find('catalog', 'look', sentence)]
}

/** Returns a finding for each container that the kubelet cannot start or has restarted. */
function containerFindings(pod: Fields): readonly Finding[] {
  const { initContainerStatuses, containerStatuses } = fieldsOrNone(pod.status)
  const statuses = [...listOrNone(initContainerStatuses), ...listOrNone(containerStatuses)]
  return statuses.map(fieldsOrNone).flatMap(({ name, state, restartCount }) => {
    const waiting = fieldsOrNone(fieldsOrNone(state).waiting)
    const reason = asText(waiting.reason) ?? ''
    const isHeld = reason !== '' && !NORMAL.has(reason)
    const restarts = typeof restartCount === 'number' ? restartCount : 0
    const why = [reason, asText(waiting.message)].filter((text) => text !== undefined).join(': ')
    if (isHeld) return [find(`container ${String(name)}`, 'look', `cannot start: ${why}`)]
    return restarts > 0
      ? [find(`container ${String(name)}`, 'look', `restarted ${restarts} times`)]
      : []
  })
}

/** Waiting reasons that occur in a normal start (kubernetes pkg/kubelet/kubelet_pods.go). */
const NORMAL: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing'])
