import type { Catalog } from '../../core/catalog.ts'
import { decide } from '../../core/decide.ts'
import type { Decision } from '../../core/decision.ts'
import { KEYS } from '../../core/keys.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { type Container, type Pod, readPod } from '../../core/kubernetes/pod.ts'
import { isAlwaysRestarted } from '../../core/kubernetes/restart-policy.ts'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import { plan } from '../../core/plan.ts'
import { readRequest } from '../../core/request.ts'
import { isDefaultWord } from '../../core/text/metric-list.ts'

/** A request to observe a running pod. */
export interface AttachRequest {
  readonly metric: string
  readonly targetContainer?: string | undefined
  /** The options of the metric, by name. */
  readonly options: ReadonlyMap<string, string>
}

/** The catalog and the namespace for a pod. */
export interface PodLocation {
  readonly catalog: Catalog
  readonly namespace: Namespace
}

/** The container to add and its target, or the problem that prevents the addition. */
export type Attached =
  | { readonly container: Fields; readonly target: string }
  | { readonly problem: string }

/**
 * Builds the ephemeral container that observes a running pod in the process namespace of the target
 * container. An injection in mode `container` would add the same container, but with fields that
 * Kubernetes forbids for ephemeral containers.
 *
 * @param object the pod, as the apiserver serves it
 * @returns the container and the name of its target, or the problem that prevents the addition
 */
export function ephemeral(
  object: Fields,
  wish: AttachRequest,
  { catalog, namespace }: PodLocation,
): Attached {
  const pod = readPod(object)
  if ('problem' in pod) return pod
  const problem =
    wordProblem(wish, catalog) ?? findProblem(object, wish) ?? toolProblem(wish, catalog)
  if (problem !== undefined) return { problem }
  const request = readRequest(buildAnnotations(wish), new Map(), catalog)
  const circumstances = { catalog, namespace: { ...namespace, limitRanges: [], quotas: [] } }
  const decision = decide(asRunning(pod), request, circumstances)
  if (decision.outcome !== 'injected') return { problem: describeDecision(decision) }
  const [container] = plan(asRunning(pod), decision, catalog, '').containers
  if (container === undefined) return { problem: 'the request adds no observer' }
  return { container: withoutForbidden(container, decision.target), target: decision.target }
}

/**
 * Finds a problem with the state of the pod. An ephemeral container is never restarted, and cannot
 * be removed or replaced even after it has ended (KEP-277).
 */
function findProblem({ spec, status }: Fields, { metric }: AttachRequest): string | undefined {
  const phase = asText(fieldsOrNone(status).phase)
  if (phase !== undefined && phase !== 'Running') return `the pod is ${phase}, not Running`
  const ephemerals = listOrNone(fieldsOrNone(spec).ephemeralContainers).map(fieldsOrNone)
  const isTaken = ephemerals.some(({ name }) => name === metric)
  return isTaken
    ? `${metric} is already attached; it cannot be removed or replaced. Use its log or a new pod`
    : undefined
}

/** Finds a word instead of the name of a metric: an ephemeral container has a single metric. */
function wordProblem({ metric }: AttachRequest, { defaultMetrics }: Catalog): string | undefined {
  if (!isDefaultWord(metric)) return undefined
  const names = defaultMetrics.length === 0 ? 'none' : defaultMetrics.join(', ')
  return `attach needs the name of one metric, not "${metric}"; the default metrics are ${names}`
}

/** Finds a metric whose tool must be loaded when the application starts. */
function toolProblem({ metric }: AttachRequest, catalog: Catalog): string | undefined {
  if (catalog.metrics.get(metric)?.tool === undefined) return undefined
  const found = `${metric} loads a library when the application starts, and this pod runs already`
  return `${found}; request ${metric} with the annotation ${KEYS.inject} and create the pod again`
}

function buildAnnotations({
  metric,
  targetContainer,
  options,
}: AttachRequest): ReadonlyMap<string, string> {
  const optionAnnotations = [...options].map(
    ([name, value]) => [`${metric}.ridealong.dev/${name}`, value] as const,
  )
  const target =
    targetContainer === undefined ? [] : [[KEYS.targetContainer, targetContainer] as const]
  return new Map([[KEYS.inject, metric], [KEYS.mode, 'container'], ...target, ...optionAnnotations])
}

/**
 * Returns the pod with neutral values for the fields that do not affect an ephemeral container:
 * - `labels` identify operators that fail if the containers of a pod share a process namespace, or
 *   if the pod has an additional container in `containers`. An ephemeral container changes neither.
 * - `automountServiceAccountToken` makes an injection add a volume that hides the token. A token is
 *   mounted only when a pod is created (serviceaccount admission), and no volume can be added
 *   later.
 * - The restart policies tell an observer whether to wait for a restart of its target. An attached
 *   observer ends with its target.
 * - A native sidecar is like any other container, because the pod completes without waiting for an
 *   ephemeral container.
 */
function asRunning(pod: Pod): Pod {
  const [first, ...others] = pod.containers
  const sidecars = pod.initContainers.filter(isAlwaysRestarted)
  return {
    ...pod,
    labels: {},
    automountServiceAccountToken: false,
    restartPolicy: 'Never',
    containers: [neverRestarted(first), ...[...others, ...sidecars].map(neverRestarted)],
    initContainers: pod.initContainers.filter((container) => !isAlwaysRestarted(container)),
  }
}

function neverRestarted(container: Container): Container {
  return { ...container, restartPolicy: undefined, hasRestartRules: false }
}

/**
 * Removes the fields that an ephemeral container cannot have, or that are of no use. For example,
 * validation forbids resources (apis/core/validation, allowedEphemeralContainerFields).
 */
function withoutForbidden(container: Fields, target: string): Fields {
  const { resources: _, restartPolicy: __, volumeMounts: ___, ...allowed } = container
  return { ...allowed, targetContainerName: target }
}

function describeDecision(decision: Exclude<Decision, { outcome: 'injected' }>): string {
  return 'reason' in decision
    ? `${decision.reason}: ${decision.message}`
    : 'the pod already has its observers'
}
