import { type Amounts, filled, greater, NO_AMOUNTS, plus, readAmounts } from './amounts.ts'
import type { Observer } from './decision.ts'
import { type Fields, fieldsOf, fieldsOrNone } from './json.ts'
import type { Container, Pod } from './pod.ts'
import type { Mode } from './request.ts'

/** Requests and limits, of a container or of a pod. */
export interface Resources {
  readonly requests: Amounts
  readonly limits: Amounts
}

/** What a container asks for, once the defaults of Kubernetes are filled in. */
export interface ContainerLoad extends Resources {
  readonly name: string
  readonly isInit: boolean
  /** A native sidecar: it starts with the init containers and stays. */
  readonly isSidecar: boolean
}

/** What a pod asks for. */
export interface Load {
  /** All of them, the init containers in their order. */
  readonly containers: readonly ContainerLoad[]
  /** The pod-level `spec.resources`, where the pod has any. */
  readonly podLevel: Resources | undefined
  /** What the RuntimeClass adds. */
  readonly overhead: Amounts
}

/** What a pod asks for as it came. */
export function loadOf(pod: Pod, defaults: readonly Resources[]): Load {
  const resources = fieldsOf(pod.spec.resources)
  return {
    containers: [
      ...pod.containers.map((container) => containerLoad(container, false, defaults)),
      ...pod.initContainers.map((container) => containerLoad(container, true, defaults)),
    ],
    podLevel: resources && {
      requests: readAmounts(fieldsOrNone(resources.requests)),
      limits: readAmounts(fieldsOrNone(resources.limits)),
    },
    overhead: readAmounts(fieldsOrNone(pod.spec.overhead)),
  }
}

/** What the observers ask for, as the last containers of a pod. */
export function observerLoads(
  observers: readonly Observer[],
  mode: Mode,
  defaults: readonly Resources[],
): readonly ContainerLoad[] {
  return observers.map(({ metric: { name }, resources }) => {
    const { requests, limits } = fieldsOrNone(resources)
    const restartsAlways = mode === 'native'
    const container = { name, restartsAlways, requests: listOf(requests), limits: listOf(limits) }
    return containerLoad(container, restartsAlways, defaults)
  })
}

function listOf(list: unknown): Fields {
  return fieldsOrNone(list)
}

/**
 * Requests that are absent are as the limits (kubernetes v1.36 pkg/apis/core/v1/defaults.go,
 * SetDefaults_Pod); then LimitRanger fills in what is absent still, before the webhooks and again
 * after them (plugin/pkg/admission/limitranger/admission.go, mergeContainerResources).
 */
function containerLoad(
  container: Pick<Container, 'name' | 'restartsAlways' | 'requests' | 'limits'>,
  isInit: boolean,
  defaults: readonly Resources[],
): ContainerLoad {
  const { name, restartsAlways } = container
  const own = readAmounts(container.limits)
  const requested = filled(readAmounts(container.requests), own)
  return {
    name,
    isInit,
    isSidecar: isInit && restartsAlways,
    requests: defaults.reduce((list, { requests }) => filled(list, requests), requested),
    limits: defaults.reduce((list, { limits }) => filled(list, limits), own),
  }
}

/**
 * The sum over a pod's containers: those that run together, or more where an init container asks
 * for more beside the sidecars before it.
 *
 * The rule is k8s.io/component-helpers v0.36 resource/helpers.go, AggregateContainerRequests and
 * AggregateContainerLimits (KEP-753).
 */
export function sumOf({ containers }: Load, kind: keyof Resources): Amounts {
  const running = containers.filter(({ isInit, isSidecar }) => !isInit || isSidecar)
  const together = running.map((container) => container[kind]).reduce(plus, NO_AMOUNTS)
  return greater(together, mostAtStart(containers, kind))
}

/** The most that an init container asks for with the sidecars that have started before it. */
function mostAtStart(containers: readonly ContainerLoad[], kind: keyof Resources): Amounts {
  let sidecars = NO_AMOUNTS
  let most = NO_AMOUNTS
  for (const container of containers.filter(({ isInit }) => isInit)) {
    const amounts = plus(sidecars, container[kind])
    if (container.isSidecar) sidecars = amounts
    most = greater(most, amounts)
  }
  return most
}

/** A pod's sum with what its `spec.resources` says instead, of the resources that may be in there. */
export function withPodLevel(
  sum: Amounts,
  podLevel: Amounts | undefined,
  isSupported: (name: string) => boolean,
): Amounts {
  if (podLevel === undefined) return sum
  return filled(new Map([...podLevel].filter(([name]) => isSupported(name))), sum)
}
