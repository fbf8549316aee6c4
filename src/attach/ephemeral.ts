import type { Catalog } from '../core/catalog.ts'
import { decide } from '../core/decide.ts'
import type { Decision } from '../core/decision.ts'
import { KEYS } from '../core/keys.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { type Pod, readPod } from '../core/kubernetes/pod.ts'
import type { Namespace } from '../core/namespace.ts'
import { plan } from '../core/plan.ts'
import { readRequest } from '../core/request.ts'

/** What a person wants of a pod that already runs. */
export interface AttachRequest {
  readonly metric: string
  readonly targetContainer?: string | undefined
  /** Of the metric, by name. */
  readonly options: ReadonlyMap<string, string>
}

/** What a pod runs in. */
export interface PodLocation {
  readonly catalog: Catalog
  readonly namespace: Namespace
}

/** The container to be added, or why none is. */
export type Attached =
  | { readonly container: Fields; readonly target: string }
  | { readonly problem: string }

/**
 * Makes the ephemeral container that observes a pod which already runs: the very container that an injection of
 * mode `container` adds, in the process namespace of its target.
 *
 * @param object the pod, as the apiserver serves it
 */
export function ephemeral(
  object: Fields,
  wish: AttachRequest,
  { catalog, namespace }: PodLocation,
): Attached {
  const pod = readPod(object)
  if ('problem' in pod) return pod
  const problem = findProblem(object, wish)
  if (problem !== undefined) return { problem }
  const request = readRequest(buildAnnotations(wish), new Map(), catalog)
  const circumstances = { catalog, namespace: { ...namespace, limitRanges: [], quotas: [] } }
  const decision = decide(asRunning(pod), request, circumstances)
  if (decision.outcome !== 'injected') return { problem: describeDecision(decision) }
  const [container] = plan(asRunning(pod), decision, catalog.revision, '').containers
  if (container === undefined) return { problem: 'nothing would be added' }
  return { container: withoutForbidden(container, decision.target), target: decision.target }
}

/** An ephemeral container is never restarted, and one that ended cannot be taken away or replaced (KEP-277). */
function findProblem({ spec, status }: Fields, { metric }: AttachRequest): string | undefined {
  const phase = asText(fieldsOrNone(status).phase)
  if (phase !== undefined && phase !== 'Running') return `the pod is ${phase}, not Running`
  const ephemerals = listOrNone(fieldsOrNone(spec).ephemeralContainers).map(fieldsOrNone)
  const isTaken = ephemerals.some(({ name }) => name === metric)
  return isTaken
    ? `${metric} was attached before; an ephemeral container stays, its log can be read, and a second one needs a new pod`
    : undefined
}

function buildAnnotations({
  metric,
  targetContainer,
  options,
}: AttachRequest): ReadonlyMap<string, string> {
  const own = [...options].map(
    ([name, value]) => [`${metric}.ridealong.dev/${name}`, value] as const,
  )
  const target =
    targetContainer === undefined ? [] : [[KEYS.targetContainer, targetContainer] as const]
  return new Map([[KEYS.inject, metric], [KEYS.mode, 'container'], ...target, ...own])
}

/**
 * What makes operators break is a shared process namespace or one container more, and neither comes; no volume
 * can be added, and the token is mounted at a pod's creation alone (serviceaccount admission).
 * A target that ended is not started again for an observer that has ended with it.
 */
function asRunning(pod: Pod): Pod {
  return { ...pod, labels: {}, automountServiceAccountToken: false, restartPolicy: 'Never' }
}

/** Validation allows an ephemeral container no resources (apis/core/validation, allowedEphemeralContainerFields). */
function withoutForbidden(container: Fields, target: string): Fields {
  const { resources: _, restartPolicy: __, volumeMounts: ___, ...allowed } = container
  return { ...allowed, targetContainerName: target }
}

function describeDecision(decision: Exclude<Decision, { outcome: 'injected' }>): string {
  return 'reason' in decision
    ? `${decision.reason}: ${decision.message}`
    : 'the pod already carries its observers'
}
