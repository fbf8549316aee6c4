import type { Injected, Observer } from '../decision.ts'
import { type EnvVar, plain } from '../kubernetes/environment.ts'
import { asObjects, type Fields } from '../kubernetes/json.ts'
import { readQuantity } from '../kubernetes/quantity.ts'
import { launchAgents } from './forwarding.ts'
import { groupTools, sizeLimitOf, type ToolGroup } from './groups.ts'
import { SIZE_VARIABLE } from './installed-tool.ts'
import { findToolTarget, type ToolTarget } from './target.ts'
import { installerName, RESULTS_PATH, TOOL_VOLUME, VOLUME_PATH } from './tool.ts'
import { joinVariables } from './variables.ts'

/** The quantity 1, as readQuantity returns it. */
const ONE = 10n ** 12n

/** The additions of the tools to the target container. */
export interface TargetAdditions extends Pick<ToolTarget, 'list' | 'index'> {
  readonly env: readonly EnvVar[]
  readonly volumeMounts: readonly Fields[]
}

/** The observers whose tools are in one volume, and the name of the volume in the pod. */
interface Installation {
  readonly group: ToolGroup<Observer>
  readonly volume: string
}

/** Returns the installations of the tools of observers. */
function installations(observers: readonly Observer[], suffix: string): readonly Installation[] {
  return groupTools(observers).map((group) => {
    return { group, volume: `${TOOL_VOLUME}${group[0].item.metric.name}-${suffix}` }
  })
}

/** Returns the volumes of the tools. */
export function toolVolumes(observers: readonly Observer[], suffix: string): readonly Fields[] {
  return installations(observers, suffix).map(({ group, volume }) => {
    return { name: volume, emptyDir: { sizeLimit: sizeLimitOf(group) } }
  })
}

/**
 * Returns the init containers that install the tools. They run before all other init containers, so
 * that a native sidecar can be the target. They have no mount other than the volume and `mounts`.
 *
 * @param mounts the mounts that every added container has
 */
export function installers(
  observers: readonly Observer[],
  suffix: string,
  mounts: readonly Fields[],
): readonly Fields[] {
  return installations(observers, suffix).map(({ group: [{ item, tool }], volume }) => {
    const { image, imagePullPolicy = 'IfNotPresent', command, args } = tool.installer
    return {
      name: installerName(item.metric.name),
      image,
      imagePullPolicy,
      command,
      args,
      env: [plain('RIDEALONG_TOOL_VOLUME', VOLUME_PATH)],
      resources: item.installer?.resources,
      securityContext: item.installer?.securityContext,
      volumeMounts: [...mounts, { name: volume, mountPath: VOLUME_PATH }],
    }
  })
}

/** Returns the mounts of the results by the name of the metric, for the observers of tools. */
export function resultsMounts(
  observers: readonly Observer[],
  suffix: string,
): ReadonlyMap<string, Fields> {
  const mounts = installations(observers, suffix).flatMap(({ group, volume }) =>
    group.map(({ item, tool: { results } }) => {
      const mount = { name: volume, mountPath: RESULTS_PATH, subPath: results.subPath }
      return [item.metric.name, mount] as const
    }),
  )
  return new Map(mounts)
}

/**
 * Returns the variable with the size limit of the tool in bytes, for the observer of a tool: its
 * part of the volume, in which there can be other tools.
 */
export function sizeVariable({ metric }: Observer): readonly EnvVar[] {
  if (metric.tool === undefined) return []
  const bytes = (readQuantity(metric.tool.sizeLimit) ?? 0n) / ONE
  return [plain(SIZE_VARIABLE, String(bytes))]
}

/**
 * Returns the additions to the target container; undefined if no observer has a tool.
 *
 * @param spec the pod's spec as received
 */
export function targetAdditions(
  spec: Fields,
  { target, observers, forwarding }: Pick<Injected, 'target' | 'observers' | 'forwarding'>,
  suffix: string,
): TargetAdditions | undefined {
  const mounts = targetMounts(observers, suffix)
  const found = mounts.length === 0 ? undefined : findToolTarget(spec, target)
  if (found === undefined) return undefined
  const { container, list, index } = found
  const own = new Set(asObjects(container.env).map(({ name }) => name))
  return {
    list,
    index,
    env: [
      ...joinVariables(observers).map(({ name, values, separator }) => {
        const value = values.join(separator)
        // The kubelet replaces $(NAME) by the value that the list has defined before (kubernetes
        // v1.36 pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables).
        return { name, value: own.has(name) ? `$(${name})${separator}${value}` : value }
      }),
      ...launchAgents(forwarding),
    ],
    volumeMounts: mounts,
  }
}

/** Returns the mounts of the target, in the order of the observers. */
function targetMounts(observers: readonly Observer[], suffix: string): readonly Fields[] {
  const mounts = installations(observers, suffix).flatMap(({ group, volume }) =>
    group.map(({ item, tool }) => {
      const folders = tool.mounts.map((mount) => ({ name: volume, ...mount, readOnly: true }))
      return [item, [...folders, { name: volume, ...tool.results }]] as const
    }),
  )
  const byObserver = new Map(mounts)
  return observers.flatMap((observer) => byObserver.get(observer) ?? [])
}
