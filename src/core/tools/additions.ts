import type { Injected, Observer } from '../decision.ts'
import { type EnvVar, plain } from '../kubernetes/environment.ts'
import { asObjects, type Fields } from '../kubernetes/json.ts'
import { readQuantity } from '../kubernetes/quantity.ts'
import { launchAgents } from './forwarding.ts'
import { findToolTarget, type ToolTarget } from './target.ts'
import { installerName, RESULTS_PATH, TOOL_VOLUME, type Tool, VOLUME_PATH } from './tool.ts'
import { joinVariables } from './variables.ts'

/** The quantity 1, as readQuantity returns it. */
const ONE = 10n ** 12n

/** The additions of the tools to the target container. */
export interface TargetAdditions extends Pick<ToolTarget, 'list' | 'index'> {
  readonly env: readonly EnvVar[]
  readonly volumeMounts: readonly Fields[]
}

/** The tool of an observer, and the name of its volume in the pod. */
interface Installation {
  readonly observer: Observer
  readonly tool: Tool
  readonly volume: string
}

/** Returns the tools of observers, with the names of their volumes. */
function installations(observers: readonly Observer[], suffix: string): readonly Installation[] {
  return observers.flatMap((observer) => {
    const { name, tool } = observer.metric
    return tool === undefined ? [] : { observer, tool, volume: volumeOf(name, suffix) }
  })
}

function volumeOf(metric: string, suffix: string): string {
  return `${TOOL_VOLUME}${metric}-${suffix}`
}

/** Returns the volumes of the tools. */
export function toolVolumes(observers: readonly Observer[], suffix: string): readonly Fields[] {
  return installations(observers, suffix).map(({ tool, volume }) => {
    return { name: volume, emptyDir: { sizeLimit: tool.sizeLimit } }
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
  return installations(observers, suffix).map(({ observer, tool, volume }) => {
    const { image, imagePullPolicy = 'IfNotPresent', command, args } = tool.installer
    return {
      name: installerName(observer.metric.name),
      image,
      imagePullPolicy,
      command,
      args,
      env: [plain('RIDEALONG_TOOL_VOLUME', VOLUME_PATH)],
      resources: observer.installer?.resources,
      securityContext: observer.installer?.securityContext,
      volumeMounts: [...mounts, { name: volume, mountPath: VOLUME_PATH }],
    }
  })
}

/** Returns the mount of the results, for the observer of a tool. */
export function resultsMount({ metric }: Observer, suffix: string): readonly Fields[] {
  if (metric.tool === undefined) return []
  const { subPath } = metric.tool.results
  return [{ name: volumeOf(metric.name, suffix), mountPath: RESULTS_PATH, subPath }]
}

/** Returns the variable with the size limit of the volume in bytes, for the observer of a tool. */
export function sizeVariable({ metric }: Observer): readonly EnvVar[] {
  if (metric.tool === undefined) return []
  const bytes = (readQuantity(metric.tool.sizeLimit) ?? 0n) / ONE
  return [plain('RIDEALONG_TOOL_SIZE_LIMIT', String(bytes))]
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
  const tools = installations(observers, suffix)
  const found = tools.length === 0 ? undefined : findToolTarget(spec, target)
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
    volumeMounts: tools.flatMap(({ tool, volume }) => [
      ...tool.mounts.map((mount) => ({ name: volume, ...mount, readOnly: true })),
      { name: volume, ...tool.results },
    ]),
  }
}
