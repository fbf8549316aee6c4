import type { Metric } from '../catalog.ts'
import type { Observer } from '../decision.ts'
import { type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import type { Pod } from '../kubernetes/pod.ts'
import { isGuaranteed } from '../kubernetes/qos.ts'
import type { RequestedMetric } from '../request.ts'
import { groupTools, installerLimits } from '../tools/groups.ts'
import type { Tool } from '../tools/tool.ts'
import { startable } from './security-context.ts'

/**
 * Requests of zero. The apiserver would set missing requests to the limits
 * (apis/core/v1/defaults.go).
 */
const NO_REQUESTS: Fields = { cpu: '0', memory: '0' }

/**
 * Builds the observers of requested metrics, with their resources before LimitRanges apply. The
 * first observer of tools that share an installer has the installer.
 *
 * @param derived the security context that is derived from the target
 */
export function buildObservers(
  metrics: readonly RequestedMetric[],
  derived: Fields,
  pod: Pod,
): readonly Observer[] {
  const guaranteed = isGuaranteed(pod)
  const limits = new Map(
    groupTools(metrics).map((group) => [group[0].item.metric.name, installerLimits(group)]),
  )
  return metrics.map((asked) => {
    return buildObserver(asked, derived, pod, guaranteed, limits.get(asked.metric.name))
  })
}

/** @param installerLimits the limits of the observer's installer; undefined if it has none */
function buildObserver(
  asked: RequestedMetric,
  derived: Fields,
  pod: Pod,
  guaranteed: boolean,
  installerLimits: Fields | undefined,
): Observer {
  const { metric, options, pods, isDefault } = asked
  const securityContext = securityContextOf(metric, derived, pod)
  const installer = installerLimits && {
    securityContext: derived,
    resources: undefined,
    limits: installerLimits,
  }
  const bare = {
    metric,
    options,
    pods,
    isDefault,
    securityContext,
    resources: undefined,
    installer,
  }
  return pod.hasResources
    ? { ...bare, resources: withStorage(pod, undefined, metric.tool) }
    : withResources(bare, pod, guaranteed)
}

/**
 * Returns the security context of the observer of a metric: that of the catalog, or else the one
 * that is derived from the target.
 */
export function securityContextOf({ container }: Metric, derived: Fields, pod: Pod): Fields {
  const { securityContext: own } = container
  return own === undefined ? derived : startable(own, pod)
}

/**
 * Gives an observer and its installer the limits of the catalog.
 *
 * @param guaranteed whether the requests equal the limits, as in a pod that is Guaranteed
 */
export function withResources(observer: Observer, pod: Pod, guaranteed: boolean): Observer {
  const { metric, installer } = observer
  const { container, tool } = metric
  return {
    ...observer,
    resources: withStorage(pod, resourcesOf(container.resources.limits, guaranteed), tool),
    installer: installer && { ...installer, resources: resourcesOf(installer.limits, guaranteed) },
  }
}

function resourcesOf(limits: Fields, guaranteed: boolean): Fields {
  return { requests: guaranteed ? limits : NO_REQUESTS, limits }
}

/**
 * Adds the size limit of a tool's volume to the limits of its observer, if the pod limits its
 * ephemeral storage. The kubelet evicts a pod whose containers and emptyDirs together use more than
 * the sum of the containers' limits (kubernetes v1.36 pkg/kubelet/eviction/eviction_manager.go,
 * podEphemeralStorageLimitEviction). Without this limit, a tool could use up the storage of the
 * application.
 */
function withStorage(
  pod: Pod,
  resources: Fields | undefined,
  tool: Tool | undefined,
): Fields | undefined {
  const containers = [...pod.containers, ...pod.initContainers]
  const isLimited = tool && containers.some(({ limits }) => limits[STORAGE] !== undefined)
  if (!isLimited) return resources
  const { requests, limits } = fieldsOrNone(resources)
  return {
    requests: { ...fieldsOrNone(requests), [STORAGE]: '0' },
    limits: { ...fieldsOrNone(limits), [STORAGE]: tool.sizeLimit },
  }
}

const STORAGE = 'ephemeral-storage'
