import type { Observer } from '../decision.ts'
import { type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { filledProblem, limitRangeProblem } from '../kubernetes/limit-range-problem.ts'
import type { Pod } from '../kubernetes/pod.ts'
import {
  type ContainerResources,
  type PodResources,
  type Resources,
  readContainerResources,
  readPodResources,
} from '../kubernetes/pod-resources.ts'
import { writeQuantity } from '../kubernetes/quantity.ts'
import { quotaProblem } from '../kubernetes/quota-problem.ts'
import { type AddedContainers, raiseResources } from '../kubernetes/raise-resources.ts'
import { type ResourceList, readResourceList } from '../kubernetes/resource-list.ts'
import type { RestartPolicy } from '../kubernetes/restart-policy.ts'
import { ruledResources } from '../kubernetes/ruled-resources.ts'
import type { Namespace } from '../namespaces/namespace.ts'
import type { Mode, RequestedMetric, Terms } from '../request.ts'
import { installerName } from '../tools/tool.ts'
import { withResources } from './build-observer.ts'
import type { LeftMetric, MetricProblem } from './left-metric.ts'

/** The observers with the resources that a namespace allows, and the metrics that it does not. */
export interface FittedMetrics {
  readonly observers: readonly Observer[]
  readonly left: readonly LeftMetric[]
}

/**
 * Raises the resources of observers as little as the LimitRanges of a namespace need, and checks
 * the rules in the order of admission: LimitRanges set defaults and enforce their bounds, then
 * ResourceQuotas apply. The rules judge all observers together. While they refuse the pod, its last
 * metric with a tool is left, or its last metric if none has a tool.
 *
 * @param build builds the observers of metrics, before the resources are raised
 */
export function fitResources(
  { limitRanges, quotas }: Namespace,
  pod: Pod,
  { mode, metrics }: Pick<Terms, 'mode' | 'metrics'>,
  build: (metrics: readonly RequestedMetric[]) => readonly Observer[],
): FittedMetrics {
  if (limitRanges.length === 0 && quotas.length === 0)
    return { observers: build(metrics), left: [] }
  const defaults = limitRanges.map((limitRange) => limitRange.defaults)
  const before = readPodResources(pod, defaults, ruledResources(limitRanges, quotas))
  const context = { limitRanges, quotas, defaults, pod, mode, before }
  const kept = [...metrics]
  const left: LeftMetric[] = []
  while (kept.length > 0) {
    const fitted = fitTogether(context, build(kept))
    if (!('reason' in fitted)) return { observers: fitted, left }
    const place = kept.findLastIndex(({ metric }) => metric.tool !== undefined)
    const [dropped] = kept.splice(place, 1)
    if (dropped !== undefined) left.unshift({ metric: dropped.metric.name, ...fitted })
  }
  return { observers: [], left }
}

function fitTogether(
  context: LimitContext,
  observers: readonly Observer[],
): readonly Observer[] | MetricProblem {
  const fitted = fitLimitRanges(context, observers)
  if (fitted.problem !== undefined) return { reason: 'limit-range', message: fitted.problem }
  const { pod, before, quotas } = context
  const ours = [...fitted.added.first, ...fitted.added.last]
  const after = together(before, fitted.added)
  const message = quotaProblem(quotas, { spec: pod.spec, before, after, observers: ours })
  return message === undefined ? fitted.observers : { reason: 'quota', message }
}

/** The rules of a namespace, and a pod without its observers. */
interface LimitContext extends Pick<Namespace, 'limitRanges' | 'quotas'> {
  readonly defaults: readonly Resources[]
  readonly pod: Pod
  readonly mode: Mode
  readonly before: PodResources
}

interface Fitted {
  readonly observers: readonly Observer[]
  readonly added: AddedContainers
  readonly problem: string | undefined
}

/**
 * Returns the observers unchanged if the LimitRanges allow them. Otherwise, returns them with
 * raised resources. In a pod with pod-level resources, the observers get the limits of the catalog
 * only if that does not suffice.
 */
function fitLimitRanges(context: LimitContext, observers: readonly Observer[]): Fitted {
  const unchanged = fitted(context, observers, readAdded(context, observers))
  if (unchanged.problem === undefined) return unchanged
  const raised = raise(context, observers)
  const { pod } = context
  if (raised.problem === undefined || !pod.hasResources) return raised
  return raise(
    context,
    observers.map((observer) => withResources(observer, pod, false)),
  )
}

function raise(context: LimitContext, observers: readonly Observer[]): Fitted {
  const added = readAdded(context, observers)
  const raised = raiseResources(context.limitRanges, context.before, added)
  return fitted(context, writeRaised(observers, added, raised), raised)
}

function fitted(
  { limitRanges, before }: LimitContext,
  observers: readonly Observer[],
  added: AddedContainers,
): Fitted {
  const after = together(before, added)
  const ours = [...added.first, ...added.last]
  const problem = limitRangeProblem(limitRanges, after, ours) ?? filledProblem(after, ours)
  return { observers, added, problem }
}

function together(before: PodResources, { first, last }: AddedContainers): PodResources {
  return { ...before, containers: [...first, ...before.containers, ...last] }
}

/** Returns the resources of the added containers, including the defaults of the LimitRanges. */
function readAdded(
  { mode, defaults }: LimitContext,
  observers: readonly Observer[],
): AddedContainers {
  const read = (
    name: string,
    restartPolicy: RestartPolicy | undefined,
    isInit: boolean,
    own: unknown,
  ) => readContainerResources({ name, restartPolicy }, isInit, readOwnResources(own), defaults)
  return {
    first: observers.flatMap(({ metric, installer }) =>
      installer ? read(installerName(metric.name), undefined, true, installer.resources) : [],
    ),
    last: observers.map(({ metric: { name }, resources }) =>
      read(name, mode === 'native' ? 'Always' : undefined, mode === 'native', resources),
    ),
  }
}

function readOwnResources(resources: unknown): Resources {
  const { requests, limits } = fieldsOrNone(resources)
  return {
    requests: readResourceList(fieldsOrNone(requests)),
    limits: readResourceList(fieldsOrNone(limits)),
  }
}

/** Writes the raised amounts into the resources of the observers and their installers. */
function writeRaised(
  observers: readonly Observer[],
  before: AddedContainers,
  after: AddedContainers,
): readonly Observer[] {
  let place = 0
  return observers.map((observer, index) => {
    const resources = written(observer.resources, before.last[index], after.last[index])
    const { installer } = observer
    if (installer === undefined) return { ...observer, resources }
    const first = written(installer.resources, before.first[place], after.first[place])
    place += 1
    return { ...observer, resources, installer: { ...installer, resources: first } }
  })
}

/** Returns resources in which only the raised amounts differ. */
function written(
  resources: Fields | undefined,
  before: ContainerResources | undefined,
  after: ContainerResources | undefined,
): Fields | undefined {
  if (before === undefined || after === undefined) return resources
  const { requests, limits } = fieldsOrNone(resources)
  return {
    requests: { ...fieldsOrNone(requests), ...changes(before.requests, after.requests) },
    limits: { ...fieldsOrNone(limits), ...changes(before.limits, after.limits) },
  }
}

function changes(before: ResourceList, after: ResourceList): Fields {
  const raised = [...after].filter(([name, amount]) => before.get(name) !== amount)
  return Object.fromEntries(raised.map(([name, amount]) => [name, writeQuantity(amount)]))
}
