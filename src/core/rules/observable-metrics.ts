import type { Metric } from '../catalog.ts'
import type { Fields } from '../kubernetes/json.ts'
import type { Container, Pod } from '../kubernetes/pod.ts'
import type { RequestedMetric, Terms } from '../request.ts'
import { selectForwarded } from '../tools/forwarding.ts'
import { groupTools } from '../tools/groups.ts'
import { installerName } from '../tools/tool.ts'
import { findMissingImage } from './image-availability.ts'
import type { LeftMetric, MetricProblem } from './left-metric.ts'
import { findPolicyProblem, type PolicyFacts } from './namespace-policy.ts'
import { findToolConflict, findTools, withLaunchAgents } from './tool-conflict.ts'

/** The facts on which it depends whether a pod can get the observer of a metric. */
export interface ObserverFacts extends PolicyFacts {
  /** The metrics whose observers the pod already has. */
  readonly present: readonly Metric[]
  /** The target as received; undefined if no requested metric has a tool. */
  readonly toolTarget: Fields | undefined
  /** The images that at least one node is known to have; undefined if images are not watched. */
  readonly heldImages?: ReadonlySet<string> | undefined
}

/** The requested metrics, divided by whether the pod can get their observers. */
export interface DividedMetrics {
  readonly metrics: readonly RequestedMetric[]
  readonly left: readonly LeftMetric[]
}

/**
 * Divides requested metrics by whether the pod can get their observers. Of two metrics that exclude
 * each other, the pod gets the first.
 */
export function divideMetrics(
  request: Pick<Terms, 'pods' | 'metrics'>,
  facts: ObserverFacts,
): DividedMetrics {
  const metrics: RequestedMetric[] = []
  const left: LeftMetric[] = []
  for (const asked of request.metrics) {
    const problem = findProblem(asked, { ...request, metrics }, facts)
    if (problem === undefined) metrics.push(asked)
    else left.push({ metric: asked.metric.name, ...problem })
  }
  return { metrics, left }
}

/**
 * Returns the first problem in the order of the rules (reasons.ts).
 *
 * @param earlier the request with the metrics whose observers the pod gets
 */
function findProblem(
  asked: RequestedMetric,
  earlier: Pick<Terms, 'pods' | 'metrics'>,
  facts: ObserverFacts,
): MetricProblem | undefined {
  return (
    findTakenName(facts.pod, asked, earlier.metrics) ??
    findPolicyProblem(facts, asked.metric) ??
    findConflict(asked, earlier, facts) ??
    findMissingImage(facts.heldImages, asked.metric)
  )
}

/**
 * Finds a container of the pod, or an added container, with the name of a container that the metric
 * adds.
 */
function findTakenName(
  pod: Pod,
  asked: RequestedMetric,
  earlier: readonly RequestedMetric[],
): MetricProblem | undefined {
  const { name } = asked.metric
  if (hasContainer(pod, name)) return nameTaken(containerTakes(name, 'a requested metric'))
  const installers = listInstallers([...earlier, asked])
  const other = installers.find((one) => installerName(one) === name)
  if (other !== undefined) return nameTaken(`metric ${name} has the name of ${roleOf(other)}`)
  if (!installers.includes(name)) return undefined
  const installer = installerName(name)
  if (hasContainer(pod, installer)) return nameTaken(containerTakes(installer, roleOf(name)))
  const isMetric = earlier.some(({ metric }) => metric.name === installer)
  return isMetric ? nameTaken(`metric ${installer} has the name of ${roleOf(name)}`) : undefined
}

/** Returns the names of the metrics whose observers have an installer. */
function listInstallers(metrics: readonly RequestedMetric[]): readonly string[] {
  return groupTools(metrics).flatMap(([{ item, tool }]) =>
    tool.installer === undefined ? [] : item.metric.name,
  )
}

function hasContainer(pod: Pod, wanted: string): boolean {
  const isWanted = ({ name }: Container) => name === wanted
  return pod.containers.some(isWanted) || pod.initContainers.some(isWanted)
}

function roleOf(metric: string): string {
  return `the init container that metric ${metric} adds`
}

function containerTakes(name: string, role: string): string {
  return `container ${name} of the pod has the name of ${role}; rename the container`
}

function nameTaken(message: string): MetricProblem {
  return { reason: 'name-taken', message }
}

function findConflict(
  asked: RequestedMetric,
  { pods, metrics }: Pick<Terms, 'pods' | 'metrics'>,
  { pod, present, toolTarget }: ObserverFacts,
): MetricProblem | undefined {
  const [tool] = findTools([asked])
  if (tool === undefined || toolTarget === undefined) return undefined
  const forwarding = selectForwarded(pod.metadata, { pods, metrics: [...metrics, asked] })
  const others = findTools([...present.map((metric) => ({ metric })), ...metrics])
  return findToolConflict(
    toolTarget,
    withLaunchAgents(tool, forwarding),
    others.map((other) => withLaunchAgents(other, forwarding)),
  )
}
