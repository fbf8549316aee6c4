import type { Injected, Observer } from '../decision.ts'
import { type EnvVar, plain } from '../kubernetes/environment.ts'
import { asObjects, type Fields } from '../kubernetes/json.ts'
import { readQuantity } from '../kubernetes/quantity.ts'
import { launchAgents } from './forwarding.ts'
import { groupTools, sizeLimitOf, type ToolGroup } from './groups.ts'
import { MOUNTS_VARIABLE, SIZE_VARIABLE } from './installed-tool.ts'
import { findToolTarget, type ToolTarget } from './target.ts'
import {
  IMAGE_VOLUME,
  installerName,
  RESULTS_PATH,
  TOOL_VOLUME,
  type ToolImage,
  VOLUME_PATH,
} from './tool.ts'
import { joinVariables } from './variables.ts'

/** The quantity 1, as readQuantity returns it. */
const ONE = 10n ** 12n

/** The additions of the tools to the target container. */
export interface TargetAdditions extends Pick<ToolTarget, 'list' | 'index'> {
  readonly env: readonly EnvVar[]
  readonly volumeMounts: readonly Fields[]
}

/** The observers whose tools are in one volume, and the names of the volumes in the pod. */
interface Installation {
  readonly group: ToolGroup<Observer>
  /** The volume with the results and, if the tools have an installer, the tools. */
  readonly volume: string
  /** The volume with the tools: the same volume, or an image. */
  readonly files: string
}

/** Returns the installations of the tools of observers. */
function installations(observers: readonly Observer[], suffix: string): readonly Installation[] {
  return groupTools(observers).map((group) => {
    const [{ item, tool }] = group
    const name = `${item.metric.name}-${suffix}`
    const volume = TOOL_VOLUME + name
    return { group, volume, files: tool.installer === undefined ? IMAGE_VOLUME + name : volume }
  })
}

/** Returns the volumes of the tools. */
export function toolVolumes(observers: readonly Observer[], suffix: string): readonly Fields[] {
  return installations(observers, suffix).flatMap(({ group, volume, files }) => {
    const { imageVolume } = group[0].tool
    const writable = { name: volume, emptyDir: { sizeLimit: sizeLimitOf(group) } }
    return imageVolume === undefined ? [writable] : [imageOf(files, imageVolume), writable]
  })
}

/** Returns a core/v1 Volume that is an image. */
function imageOf(name: string, { image, imagePullPolicy = 'IfNotPresent' }: ToolImage): Fields {
  return { name, image: { reference: image, pullPolicy: imagePullPolicy } }
}

/**
 * Returns the init containers that install the tools, for tools that are not mounted from their
 * image. They run before all other init containers, so that a native sidecar can be the target.
 * They have no mount other than the volume and `mounts`.
 *
 * @param mounts the mounts that every added container has
 */
export function installers(
  observers: readonly Observer[],
  suffix: string,
  mounts: readonly Fields[],
): readonly Fields[] {
  return installations(observers, suffix).flatMap(({ group: [{ item, tool }], volume }) => {
    if (tool.installer === undefined) return []
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
 * Returns the variables of the observer of a tool: the size limit of the tool in bytes, its part of
 * the volume, in which there can be other tools; and, for a tool that is mounted from its image,
 * the paths of the image in the target, at which the observer checks whether a library can be
 * mapped.
 */
export function toolVariables({ metric }: Observer): readonly EnvVar[] {
  if (metric.tool === undefined) return []
  const { sizeLimit, imageVolume, mounts } = metric.tool
  const size = plain(SIZE_VARIABLE, String((readQuantity(sizeLimit) ?? 0n) / ONE))
  if (imageVolume === undefined) return [size]
  return [size, plain(MOUNTS_VARIABLE, mounts.map(({ mountPath }) => mountPath).join(' '))]
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
  const mounts = installations(observers, suffix).flatMap(({ group, volume, files }) =>
    group.map(({ item, tool }) => {
      const folders = tool.mounts.map((mount) => ({ name: files, ...mount, readOnly: true }))
      return [item, [...folders, { name: volume, ...tool.results }]] as const
    }),
  )
  const byObserver = new Map(mounts)
  return observers.flatMap((observer) => byObserver.get(observer) ?? [])
}
