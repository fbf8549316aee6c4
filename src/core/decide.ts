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
import type { Container, Pod } from './kubernetes/pod.ts'
import type { Request, RequestedMetric } from './request.ts'
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
import { checkImageAvailability } from './rules/image-availability.ts'
import { findDefaultTarget } from './rules/injected-containers.ts'
import { checkNamespacePolicy, type RuleSource } from './rules/namespace-policy.ts'
import { operatorConflict } from './rules/operator-conflict.ts'
import { selectMetrics, type UnselectedMetric } from './rules/pod-selection.ts'
import { fitResources } from './rules/resource-policy.ts'
import { deriveSecurityContext } from './rules/security-context.ts'
import { findToolConflict, findTools, withLaunchAgents } from './rules/tool-conflict.ts'
import { hasRoom, isShort, MAX_STATUS_LENGTH, sharedBefore } from './status.ts'
import { nameFirst } from './text/name-first.ts'
import { quote } from './text/quote.ts'
import { type Forwarding, launchAgents, selectForwarded } from './tools/forwarding.ts'
import { groupTools } from './tools/groups.ts'
import { findToolTarget } from './tools/target.ts'
import { installerName } from './tools/tool.ts'
import { joinVariables } from './tools/variables.ts'

type MetricRequest = Extract<Request, { kind: 'asked' }>

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
 * Decides whether a pod that is being created gets observers. The pod gets the observers of all
 * requested metrics, or none.
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
  { present, different }: Earlier,
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
  return decideObservers({
    ...circumstances,
    pod,
    request: { ...request, metrics },
    others,
    present,
  })
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
  const taken = findTakenName(pod, request.metrics)
  if (taken !== undefined) return leaveOrDeny(request.onError, 'name-taken', taken)
  const derived = deriveSecurityContext(target, pod)
  const built = buildObservers(request.metrics, derived, pod)
  const denied = checkNamespacePolicy(ride, pod, request.onError, built)
  if (denied !== undefined) return denied
  const fitted = fitResources(ride.namespace, pod, request.mode, built)
  if ('reason' in fitted) return leaveOrDeny(request.onError, fitted.reason, fitted.message)
  const { observers } = fitted
  const forwarding = selectForwarded(pod.metadata, request)
  return (
    checkTools(pod, request, target, forwarding) ??
    checkImageAvailability(ride.heldImages, request.onError, observers) ??
    decideInjection(ride, { observers, target, forwarding })
  )
}

/** Returns the ordinary containers and the native sidecars. */
function lastingContainers(pod: Pod): readonly Container[] {
  return [...pod.containers, ...pod.initContainers.filter(({ restartsAlways }) => restartsAlways)]
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

function hasContainer(pod: Pod, wanted: string): boolean {
  const isWanted = ({ name }: Container) => name === wanted
  return pod.containers.some(isWanted) || pod.initContainers.some(isWanted)
}

/** A container that a metric adds. */
interface AddedContainer {
  readonly name: string
  /** A description for messages. */
  readonly role: string
}

function observerOf({ metric: { name } }: RequestedMetric): AddedContainer {
  return { name, role: 'a requested metric' }
}

function installersOf(metrics: readonly RequestedMetric[]): readonly AddedContainer[] {
  return groupTools(metrics).flatMap(([first]) => {
    if (first.tool.installer === undefined) return []
    const { name } = first.item.metric
    return { name: installerName(name), role: `the init container that metric ${name} adds` }
  })
}

/**
 * Finds a container of the pod, or a requested metric, with the name of another added container.
 * Returns a sentence about it without the final period.
 */
function findTakenName(pod: Pod, metrics: readonly RequestedMetric[]): string | undefined {
  const [observers, installers] = [metrics.map(observerOf), installersOf(metrics)]
  const taken = [...observers, ...installers].find(({ name }) => hasContainer(pod, name))
  if (taken !== undefined) {
    return `container ${taken.name} of the pod has the name of ${taken.role}; rename the container`
  }
  const twice = installers.find((one) => observers.some(({ name }) => name === one.name))
  return twice && `metric ${twice.name} has the name of ${twice.role}`
}

function checkTools(
  pod: Pod,
  request: MetricRequest,
  { name }: Container,
  forwarding: Forwarding,
): Left | Denied | undefined {
  const found = findToolTarget(pod.spec, name)
  const tools = withLaunchAgents(findTools(request.metrics), forwarding)
  const conflict = found && findToolConflict(found.container, tools)
  return conflict && leaveOrDeny(request.onError, conflict.reason, conflict.message)
}

/** The additions to a pod that gets observers. */
interface Additions {
  readonly observers: readonly Observer[]
  readonly target: Container
  readonly forwarding: Forwarding
}

function decideInjection(ride: InjectionContext, additions: Additions): Decision {
  const { pod, request, others, present } = ride
  const { observers, target, forwarding } = additions
  const { mode, onError, targetCommand } = request
  const counters = predictFor(ride, observers, target)
  const status = formatStatus(ride, additions, counters)
  if (!isShort(status)) return tooManyMetrics(request)
  const isNamed = mode === 'native' || pod.annotations?.[DEFAULT_CONTAINER_KEY] !== undefined
  const annotations = isNamed
    ? { [STATUS_KEY]: status }
    : { [STATUS_KEY]: status, [DEFAULT_CONTAINER_KEY]: findDefaultTarget(pod).name }
  if (!hasRoom(pod, annotations)) return leaveOrDeny(onError, 'too-large')
  return {
    outcome: 'injected',
    observers,
    others,
    present,
    mode,
    target: target.name,
    targetCommand,
    forwarding,
    counters,
    annotations,
    stripped: findStripped(pod, present),
  }
}

function tooManyMetrics({ onError }: MetricRequest): Left | Denied {
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

function formatStatus(
  { pod, request, others, present, catalog }: InjectionContext,
  { observers, forwarding }: Additions,
  { counters }: CounterPrediction,
): string {
  const variables = [...joinVariables(observers), ...launchAgents(forwarding)].map(
    ({ name }) => name,
  )
  return JSON.stringify({
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
  })
}
