import { asFields, type Fields, fieldsOrNone } from './json.ts'
import type { Container, Pod } from './pod.ts'
import { readQuantity } from './quantity.ts'
import { filled, greatest, type ResourceList, readResourceList, sum } from './resource-list.ts'
import { isAlwaysRestarted } from './restart-policy.ts'

/** The requests and limits of a container or of a pod. */
export interface Resources {
  readonly requests: ResourceList
  readonly limits: ResourceList
}

/** The resources of a container after Kubernetes has applied its defaults. */
export interface ContainerResources extends Resources {
  readonly name: string
  readonly isInit: boolean
  /** Whether the container is a native sidecar: an init container that keeps running. */
  readonly isSidecar: boolean
}

/** The resources of a pod. */
export interface PodResources {
  /** All containers of the pod; the init containers are in their original order. */
  readonly containers: readonly ContainerResources[]
  /** The pod-level `spec.resources`, if the pod has any. */
  readonly podLevel: Resources | undefined
  /**
   * Whether `spec.resources` sets a resource that is supported at pod level (helpers.go,
   * IsPodLevelResourcesSet).
   */
  readonly isSetByPod: boolean
  /** The overhead that the RuntimeClass adds. */
  readonly overhead: ResourceList
}

/**
 * Reads the resources of a pod, and applies the defaults of Kubernetes to its containers.
 *
 * @param defaults the defaults of the namespace's LimitRanges
 * @param names the resources to read; if omitted, all are read. Callers name the resources for
 * which the namespace has rules, because a pod may name any number of others.
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
 * Reports whether a resource is supported at pod level (k8s.io/component-helpers v0.36
 * resource/helpers.go, IsSupportedPodLevelResource).
 */
export function isPodResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')
}

/**
 * Applies the defaults of Kubernetes to the resources of a container. A missing request is set to
 * the limit (kubernetes v1.36 pkg/apis/core/v1/defaults.go, SetDefaults_Pod). The admission plugin
 * LimitRanger sets the other missing values, both before and after the webhooks run
 * (plugin/pkg/admission/limitranger/admission.go, mergeContainerResources).
 */
export function readContainerResources(
  container: Pick<Container, 'name' | 'restartPolicy'>,
  isInit: boolean,
  resources: Resources,
  defaults: readonly Resources[],
): ContainerResources {
  const requested = filled(resources.requests, resources.limits)
  return {
    name: container.name,
    isInit,
    isSidecar: isInit && isAlwaysRestarted(container),
    requests: defaults.reduce((list, { requests }) => filled(list, requests), requested),
    limits: defaults.reduce((list, { limits }) => filled(list, limits), resources.limits),
  }
}

/**
 * Returns the amounts that the containers of a pod use at the same time. For each resource, the
 * amount is the greatest of several sums: one over the ordinary containers and all sidecars, and,
 * for each init container, one over this container and the sidecars before it.
 *
 * The rule comes from k8s.io/component-helpers v0.36 resource/helpers.go,
 * AggregateContainerRequests and AggregateContainerLimits (KEP-753).
 */
export function sumContainers({ containers }: PodResources, kind: keyof Resources): ResourceList {
  const running = containers.filter(({ isInit, isSidecar }) => !isInit || isSidecar)
  const together = sum(running.map((container) => container[kind]))
  return greatest([together, mostAtStart(containers, kind)])
}

/**
 * Returns, for each resource, the greatest sum of an init container and the sidecars that started
 * before this container. A resource that an init container does not use needs no sum here, because
 * the sum over only the sidecars was included when the last of these sidecars started.
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

/**
 * Replaces the amounts in a pod's sum by the amounts in its `spec.resources`, for supported
 * resources only.
 */
export function withPodLevel(
  sum: ResourceList,
  podLevel: ResourceList | undefined,
  isSupported: (name: string) => boolean,
): ResourceList {
  if (podLevel === undefined) return sum
  return filled(new Map([...podLevel].filter(([name]) => isSupported(name))), sum)
}
