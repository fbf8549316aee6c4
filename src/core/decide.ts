import type { Catalog } from './catalog.ts'
import {
  type Decision,
  type Denied,
  type Left,
  leave,
  leaveOrDeny,
  type Observer,
} from './decision.ts'
import { DEFAULT_CONTAINER_KEY, KEYS, MIRROR_KEY, STATUS_KEY } from './keys.ts'
import type { Fields } from './kubernetes/json.ts'
import { type Container, type Pod, readPod } from './kubernetes/pod.ts'
import { effectiveRestartPolicy, isAlwaysRestarted } from './kubernetes/restart-policy.ts'
import type { Mode, OnError, Request } from './request.ts'
import { buildObservers } from './rules/build-observer.ts'
import { type CounterPrediction, predictCounters } from './rules/counters.ts'
import {
  type Earlier,
  findEarlierObservers,
  findStripped,
  hasObserverOfOther,
  leaveDifferent,
  settle,
  wasInjectedByOther,
} from './rules/earlier-observers.ts'
import { findDefaultTarget } from './rules/injected-containers.ts'
import { findDecisive, type LeftMetric } from './rules/left-metric.ts'
import type { RuleSource } from './rules/namespace-policy.ts'
import { divideMetrics } from './rules/observable-metrics.ts'
import { operatorConflict } from './rules/operator-conflict.ts'
import { asItCame } from './rules/original-pod.ts'
import { selectMetrics, type UnselectedMetric } from './rules/pod-selection.ts'
import { type FittedMetrics, fitResources } from './rules/resource-policy.ts'
import { deriveSecurityContext } from './rules/security-context.ts'
import { findListProblem, findTools } from './rules/tool-conflict.ts'
import { hasRoom, injectedStatus, isShort, MAX_STATUS_LENGTH, sharedBefore } from './status.ts'
import { nameFirst } from './text/name-first.ts'
import { quote } from './text/quote.ts'
import { type Forwarding, launchAgents, selectForwarded } from './tools/forwarding.ts'
import { findToolTarget } from './tools/target.ts'
import { joinVariables } from './tools/variables.ts'

type ValidRequest = Extract<Request, { kind: 'asked' }>

/** A valid request, and the metrics that are left before the rules on the pod apply. */
type MetricRequest = Omit<ValidRequest, 'left'> & { readonly left: readonly LeftMetric[] }

/**
 * The facts that a decision depends on, other than the pod and its request: the rules of the
 * namespace, the catalog and the images.
 */
export interface Circumstances extends RuleSource {
  readonly catalog: Catalog
  /** The images that at least one node is known to have; undefined if images are not watched. */
  readonly heldImages?: ReadonlySet<string> | undefined
  /** The names of the revisions of all releases; undefined if they are not known. */
  readonly revisions?: ReadonlySet<string> | undefined
}

/**
 * Decides whether a pod that is being created gets observers. A reason that concerns one metric
 * leaves this metric, and the pod gets the observers of the others, unless it is to be denied.
 *
 * @param request the request of the pod and its namespace
 */
export function decide(pod: Pod, request: Request, circumstances: Circumstances): Decision {
  if (pod.annotations?.[MIRROR_KEY] !== undefined) return leave('mirror-pod')
  if (request.kind === 'nothing') return leave(request.reason)
  if (pod.hostPID) return leaveOrDeny(request.onError, 'host-pid')
  if (pod.isWindows) return leaveOrDeny(request.onError, 'windows')
  if (isMoving(circumstances) && wasInjectedByOther(pod, circumstances.catalog))
    return leave('already-injected')
  const earlier = findEarlierObservers(pod, circumstances.catalog)
  const decision = decideMissing(pod, request, earlier, circumstances)
  return settle(pod, decision, earlier)
}

/** Reports whether the namespace moves from a release that exists. */
function isMoving({ namespace: { movedFrom }, revisions }: Circumstances): boolean {
  return movedFrom !== undefined && revisions?.has(movedFrom) === true
}

function decideMissing(
  pod: Pod,
  request: Exclude<Request, { kind: 'nothing' }>,
  { present, different }: Pick<Earlier, 'present' | 'different'>,
  circumstances: Circumstances,
): Decision {
  if (request.kind === 'wrong') return leaveOrDeny(request.onError, request.reason, request.message)
  const ofPod = selectMetrics(pod.metadata, request)
  if ('reason' in ofPod) return leaveOrDeny(request.onError, ofPod.reason, ofPod.message)
  const missing = ofPod.metrics.filter(({ metric }) => !present.includes(metric.name))
  // A copy of a pod with the default metrics of another catalog does not get those of this catalog.
  const isCopy =
    missing.some(({ isDefault }) => isDefault) && hasObserverOfOther(pod, circumstances.catalog)
  const metrics = isCopy ? missing.filter(({ isDefault }) => !isDefault) : missing
  if (metrics.length === 0) return leave('already-injected')
  const other = metrics.flatMap(
    ({ metric }) => different.find(({ name }) => name === metric.name) ?? [],
  )
  if (other.length > 0) return leaveDifferent(other)
  const { others } = ofPod
  const left = present.length === 0 ? request.left : findLeftBefore(pod, request, circumstances)
  const isLeft = (name: string) => left.some(({ metric }) => metric === name)
  const wanted = metrics.filter(({ metric }) => !isLeft(metric.name))
  return decideObservers({
    ...circumstances,
    pod,
    request: {
      ...request,
      metrics: wanted,
      left: left.filter(({ metric }) => !present.includes(metric)),
    },
    others,
    present,
  })
}

/**
 * Returns the requested metrics that the pod did not get when it had no observers yet. A second
 * review must not add them. Some of them would fit beside the observers of the first review: in a
 * pod with pod-level resources, either all or none of the observers of one review have limits of
 * their own. Others excluded a metric that is now left for a different reason.
 */
function findLeftBefore(
  { metadata, spec, size }: Pod,
  request: ValidRequest,
  circumstances: Circumstances,
): readonly LeftMetric[] {
  const original = readPod(asItCame({ metadata, spec }), size)
  if ('problem' in original) return request.left
  const first = decideMissing(original, request, { present: [], different: [] }, circumstances)
  return first.outcome === 'injected' ? first.left : request.left
}

/** A pod with a valid request, and the facts that the decision depends on. */
interface InjectionContext extends Circumstances {
  readonly pod: Pod
  readonly request: MetricRequest
  /** The requested metrics that apply only to other pods. */
  readonly others: readonly UnselectedMetric[]
  /** The names of the observers that the pod already has. */
  readonly present: readonly string[]
}

function decideObservers(ride: InjectionContext): Decision {
  const { pod, request } = ride
  const unsupported = operatorConflict(pod, request.mode)
  if (unsupported !== undefined)
    return leaveOrDeny(request.onError, 'operator-conflict', unsupported)
  const target = findTarget(request, pod)
  if (target === undefined) return unknownTarget(request, pod)
  if (preventsCompletion(request, pod, target))
    return leaveOrDeny(request.onError, 'invalid-option', ofSidecar(target))
  const hasTools = findTools(request.metrics).length > 0
  const toolTarget = hasTools ? findToolTarget(pod.spec, target.name)?.container : undefined
  const malformed = toolTarget && findListProblem(toolTarget)
  if (malformed !== undefined) return leave('invalid-pod', malformed)
  const { observers, left } = resolveMetrics(ride, target, toolTarget)
  const decisive = findDecisive(left, observers.length, request.onError === 'deny')
  if (decisive !== undefined) return leaveOrDeny(request.onError, decisive.reason, decisive.message)
  const forwarding = selectForwarded(pod.metadata, { ...request, metrics: observers })
  return decideInjection(ride, { observers, left, target, forwarding })
}

/** Resolves each requested metric to an observer, or to the reason why the pod does not get it. */
function resolveMetrics(
  ride: InjectionContext,
  target: Container,
  toolTarget: Fields | undefined,
): FittedMetrics {
  const { pod, request, namespace, catalog } = ride
  const derived = deriveSecurityContext(target, pod)
  const present = ride.present.flatMap((name) => catalog.metrics.get(name) ?? [])
  const { metrics, left } = divideMetrics(request, { ...ride, derived, present, toolTarget })
  const fitted = fitResources(namespace, pod, { ...request, metrics }, (kept) =>
    buildObservers(kept, derived, pod),
  )
  return { ...fitted, left: [...request.left, ...left, ...fitted.left] }
}

/** Returns the ordinary containers and the native sidecars. */
function lastingContainers(pod: Pod): readonly Container[] {
  return [...pod.containers, ...pod.initContainers.filter(isAlwaysRestarted)]
}

function findTarget({ targetContainer }: MetricRequest, pod: Pod): Container | undefined {
  const wanted = targetContainer ?? pod.annotations?.[DEFAULT_CONTAINER_KEY]
  const found = lastingContainers(pod).find(({ name }) => name === wanted)
  return targetContainer === undefined ? (found ?? findDefaultTarget(pod)) : found
}

/** The maximum number of containers that a message names. */
const MAX_NAMED = 8

function unknownTarget({ onError, targetContainer = '' }: MetricRequest, pod: Pod): Left | Denied {
  const names = lastingContainers(pod).map(({ name }) => name)
  const known = nameFirst(names.map(quote), MAX_NAMED)
  const wanted = `annotation ${KEYS.targetContainer}: ${quote(targetContainer)}`
  const message = `${wanted} is not a container or sidecar of the pod, which has ${known}`
  return leaveOrDeny(onError, 'unknown-target-container', message)
}

/**
 * Reports whether the pod would never complete with an observer, but completes without it: if an
 * observer in mode `container` waits for a native sidecar, which ends after all such containers.
 */
function preventsCompletion({ mode }: MetricRequest, pod: Pod, { name }: Container): boolean {
  const isSidecar = pod.containers.every((container) => container.name !== name)
  const completes = pod.containers.every((each) => effectiveRestartPolicy(pod, each) !== 'Always')
  return mode === 'container' && isSidecar && completes
}

function ofSidecar({ name }: Container): string {
  const problem = `${name} is a native sidecar, which only the mode native can observe`
  return `annotation ${KEYS.mode}: ${problem} in a pod that completes`
}

/** The additions to a pod that gets observers. */
interface Additions {
  readonly observers: readonly Observer[]
  /** The requested metrics that the pod does not get. */
  readonly left: readonly LeftMetric[]
  readonly target: Container
  readonly forwarding: Forwarding
}

function decideInjection(ride: InjectionContext, additions: Additions): Decision {
  const { pod, request, others, present } = ride
  const { observers, left, target, forwarding } = additions
  const { mode, onError, targetCommand } = request
  const counters = predictFor(ride, observers, target)
  const fields = describeInjection(ride, additions, counters)
  const annotate = (status: string) => withStatus(pod, mode, status)
  const status = injectedStatus(fields, left, (each) => hasRoom(pod, annotate(each)))
  if (status === undefined)
    return isShort(JSON.stringify(fields))
      ? leaveOrDeny(onError, 'too-large')
      : tooManyMetrics(onError)
  return {
    outcome: 'injected',
    observers,
    others,
    left,
    present,
    mode,
    target: target.name,
    targetRestarts: target,
    targetCommand,
    forwarding,
    counters,
    annotations: annotate(status),
    stripped: findStripped(pod, present),
  }
}

/** Returns the annotations of an injected pod. */
function withStatus(pod: Pod, mode: Mode, status: string): Fields {
  const isNamed = mode === 'native' || pod.annotations?.[DEFAULT_CONTAINER_KEY] !== undefined
  return isNamed
    ? { [STATUS_KEY]: status }
    : { [STATUS_KEY]: status, [DEFAULT_CONTAINER_KEY]: findDefaultTarget(pod).name }
}

function tooManyMetrics(onError: OnError): Left | Denied {
  const size = `${MAX_STATUS_LENGTH} bytes`
  const problem = `too many metrics; the annotation ${STATUS_KEY} would exceed ${size}`
  return leaveOrDeny(onError, 'invalid-option', `annotation ${KEYS.inject}: ${problem}`)
}

function predictFor(
  { pod, request }: InjectionContext,
  observers: readonly Observer[],
  target: Container,
): CounterPrediction {
  // With a target command, observers search all containers, so each container may have a target.
  const targets = request.targetCommand === undefined ? [target] : lastingContainers(pod)
  const contexts = observers.map(({ securityContext }) => securityContext)
  return predictCounters(contexts, targets, pod)
}

/** Returns the fields of the status, without the metrics that were left. */
function describeInjection(
  { pod, request, others, present, catalog }: InjectionContext,
  { observers, forwarding }: Additions,
  { counters }: CounterPrediction,
): Fields {
  const variables = [...joinVariables(observers), ...launchAgents(forwarding)].map(
    ({ name }) => name,
  )
  return {
    outcome: 'injected',
    metrics: [...present, ...observers.map(({ metric }) => metric.name)],
    mode: request.mode,
    shareProcessNamespace: sharedBefore(pod),
    counters,
    catalog: catalog.revision,
    // The variables of the target that `ridealong inject --undo` removes.
    variables: variables.length > 0 ? variables : undefined,
    // The requested metrics that only other pods have.
    notSelected: others.length > 0 ? others.map(({ metric }) => metric) : undefined,
  }
}
