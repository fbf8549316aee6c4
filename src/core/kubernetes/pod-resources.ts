import { asFields, type Fields, fieldsOrNone } from './json.ts'
import type { Container, Pod } from './pod.ts'
import { readQuantity } from './quantity.ts'
import { filled, greatest, type ResourceList, readResourceList, sum } from './resource-list.ts'

/** Requests and limits, of a container or of a pod. */
export interface Resources {
  readonly requests: ResourceList
  readonly limits: ResourceList
}

/** What a container asks for, once the defaults of Kubernetes are filled in. */
export interface ContainerResources extends Resources {
  readonly name: string
  readonly isInit: boolean
  /** A native sidecar: it starts with the init containers and stays. */
  readonly isSidecar: boolean
}

/** What a pod asks for. */
export interface PodResources {
  /** All of them, the init containers in their order. */
  readonly containers: readonly ContainerResources[]
  /** The pod-level `spec.resources`, where the pod has any. */
  readonly podLevel: Resources | undefined
  /** Whether `spec.resources` sets anything that pods can set (helpers.go, IsPodLevelResourcesSet). */
  readonly isSetByPod: boolean
  /** What the RuntimeClass adds. */
  readonly overhead: ResourceList
}

/**
 * Reads the resources of a pod as it came.
 *
 * @param defaults of the LimitRanges
 * @param names the resources to read: a pod may name any number of others, which no rule is about
 */
export function readPodResources(
  pod: Pod,
  defaults: readonly Resources[],
  names?: ReadonlySet<string>,
): PodResources {
  const read = (list: unknown) => readResourceList(fieldsOrNone(list), names)
  const load = (isInit: boolean) => (container: Container) => {
    const { requests, limits } = container
    const own = { requests: read(requests), limits: read(limits) }
    return readContainerResources(container, isInit, own, defaults)
  }
  const { resources, overhead } = pod.spec
  const { requests, limits } = fieldsOrNone(resources)
  return {
    containers: [...pod.containers.map(load(false)), ...pod.initContainers.map(load(true))],
    podLevel: asFields(resources) && { requests: read(requests), limits: read(limits) },
    isSetByPod: [requests, limits].map(fieldsOrNone).some(setsPodResource),
    overhead: read(overhead),
  }
}

function setsPodResource(list: Fields): boolean {
  return Object.keys(list).some((name) => {
    return isPodResource(name) && readQuantity(list[name]) !== undefined
  })
}

/**
 * Whether a pod can set a resource for all its containers together: k8s.io/component-helpers v0.36
 * resource/helpers.go, IsSupportedPodLevelResource.
 */
export function isPodResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')
}

/**
 * Requests that are absent are as the limits (kubernetes v1.36 pkg/apis/core/v1/defaults.go,
 * SetDefaults_Pod); then LimitRanger fills in what is absent still, before the webhooks and again
 * after them (plugin/pkg/admission/limitranger/admission.go, mergeContainerResources).
 */
export function readContainerResources(
  { name, restartsAlways }: Pick<Container, 'name' | 'restartsAlways'>,
  isInit: boolean,
  own: Resources,
  defaults: readonly Resources[],
): ContainerResources {
  const requested = filled(own.requests, own.limits)
  return {
    name,
    isInit,
    isSidecar: isInit && restartsAlways,
    requests: defaults.reduce((list, { requests }) => filled(list, requests), requested),
    limits: defaults.reduce((list, { limits }) => filled(list, limits), own.limits),
  }
}

/**
 * The sum over a pod's containers: those that run together, or more where an init container asks
 * for more beside the sidecars before it.
 *
 * The rule is k8s.io/component-helpers v0.36 resource/helpers.go, AggregateContainerRequests and
 * AggregateContainerLimits (KEP-753).
 */
export function sumContainers({ containers }: PodResources, kind: keyof Resources): ResourceList {
  const running = containers.filter(({ isInit, isSidecar }) => !isInit || isSidecar)
  const together = sum(running.map((container) => container[kind]))
  return greatest([together, mostAtStart(containers, kind)])
}

/**
 * The most that an init container asks for with the sidecars that have started before it. Of the
 * resources that a container does not ask for, the sidecars' sum was compared when it last grew.
 */
function mostAtStart(
  containers: readonly ContainerResources[],
  kind: keyof Resources,
): ResourceList {
  const sidecars = new Map<string, bigint>()
  const starts = containers
    .filter(({ isInit }) => isInit)
    .map((container) => {
      const start = new Map<string, bigint>()
      for (const [name, own] of container[kind]) start.set(name, own + (sidecars.get(name) ?? 0n))
      if (container.isSidecar) for (const [name, amount] of start) sidecars.set(name, amount)
      return start
    })
  return greatest(starts)
}

/** A pod's sum with what its `spec.resources` says instead, of the resources that may be in there. */
export function withPodLevel(
  sum: ResourceList,
  podLevel: ResourceList | undefined,
  isSupported: (name: string) => boolean,
): ResourceList {
  if (podLevel === undefined) return sum
  return filled(new Map([...podLevel].filter(([name]) => isSupported(name))), sum)
}
