import { STATUS_KEY } from '../keys.ts'
import { asFields, asObjects, type Fields, fieldsOrNone, listOrNone } from '../kubernetes/json.ts'
import { injectedBefore, readStatus } from '../status.ts'
import { isToolVolume } from '../tools/added-volumes.ts'
import { installerName, VOLUME_PATH } from '../tools/tool.ts'
import { isObserver } from './observer-difference.ts'

/**
 * Removes from a pod the additions of Ridealong that affect a decision. The status annotation can
 * be copied or forged, so a container that it names is removed only if the container also has the
 * environment variable RIDEALONG_CATALOG, which every observer gets, or the whole volume of a tool,
 * which only the installer of a tool gets.
 */
export function asItCame(pod: Fields): Fields {
  const metadata = fieldsOrNone(pod.metadata)
  const { [STATUS_KEY]: _, ...annotations } = fieldsOrNone(metadata.annotations)
  const names = injectedBefore(asFields(metadata.annotations))
  const status = readStatus(asFields(metadata.annotations))
  const variables = names.length > 0 ? listOrNone(status?.variables) : []
  const spec = fieldsOrNone(pod.spec)
  const without = (containers: unknown) =>
    listOrNone(containers)
      .filter((one) => !isAdded(fieldsOrNone(one), names))
      .map((one) => withoutTools(one, variables))
  return {
    ...pod,
    metadata: { ...metadata, annotations },
    spec: {
      ...spec,
      containers: without(spec.containers),
      initContainers: without(spec.initContainers),
      shareProcessNamespace:
        names.length > 0 ? status?.shareProcessNamespace === 'true' : spec.shareProcessNamespace,
    },
  }
}

function isAdded(container: Fields, metrics: readonly string[]): boolean {
  const isNamed = metrics.some((metric) => metric === container.name)
  return (isNamed && isObserver(container)) || isInstaller(container, metrics)
}

/** Reports whether a container installs the tool of one of the metrics. */
export function isInstaller({ name, volumeMounts }: Fields, metrics: readonly string[]): boolean {
  const isNamed = metrics.some((metric) => installerName(metric) === name)
  const mounts = asObjects(volumeMounts).filter(({ name }) => isToolVolume(name))
  return isNamed && mounts.some(({ mountPath }) => mountPath === VOLUME_PATH)
}

/**
 * Removes the mounts of tools from a container. If it has such mounts, also removes the last entry
 * of each variable, because tools append their entries.
 *
 * @param variables the names of the variables that the status annotation lists
 */
function withoutTools(container: unknown, variables: readonly unknown[]): unknown {
  const fields = fieldsOrNone(container)
  const mounts = listOrNone(fields.volumeMounts)
  const kept = mounts.filter((mount) => !isToolVolume(fieldsOrNone(mount).name))
  if (variables.length === 0 || kept.length === mounts.length) return container
  const env = [...listOrNone(fields.env)]
  for (const variable of variables) {
    const last = env.findLastIndex((entry) => fieldsOrNone(entry).name === variable)
    if (last >= 0) env.splice(last, 1)
  }
  return { ...fields, env, volumeMounts: kept }
}
