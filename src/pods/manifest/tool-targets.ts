import {
  asFields,
  asObjects,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../core/kubernetes/json.ts'
import { isObserver } from '../../core/rules/observer-difference.ts'
import { isToolVolume } from '../../core/tools/added-volumes.ts'
import { installerName, VOLUME_PATH } from '../../core/tools/tool.ts'

/**
 * Reports whether a container is an observer, or an init container that installs the tool of a
 * metric. The status annotation can be copied or forged. A container that it names is therefore an
 * observer only if the container has the variable RIDEALONG_CATALOG, which every observer has. A
 * container is an installer only if it mounts the volume of a tool at VOLUME_PATH.
 *
 * @param status the status annotation of the template
 */
export function isAdded(container: Fields, { metrics }: Fields): boolean {
  const { name, volumeMounts } = container
  const names = listOrNone(metrics).filter((metric) => typeof metric === 'string')
  if (names.some((metric) => metric === name)) return isObserver(container)
  const isInstaller = names.some((metric) => installerName(metric) === name)
  const mounts = asObjects(volumeMounts).filter(isToolMount)
  return isInstaller && mounts.some(({ mountPath }) => mountPath === VOLUME_PATH)
}

/** Reports whether a container of the application is the target of a tool. */
export function isToolTarget(container: Fields, status: Fields): boolean {
  const isMounted = asObjects(container.volumeMounts).some(isToolMount)
  return isMounted && !isAdded(container, status)
}

/** Reports whether a mount is of a volume of a tool. */
export function isToolMount({ name }: Fields): boolean {
  return isToolVolume(name)
}

/**
 * Returns the indexes of the entries of `env` that injections added. An injection appends its
 * entries, so these are the last entries of each name.
 *
 * @param status the status annotation of the template
 */
export function addedEntries(container: Fields, status: Fields): readonly number[] {
  const added = addedVariables(status).flatMap((variable) => {
    const [name, owner] = variable.split('/').reverse()
    return owner === undefined || owner === container.name ? [name] : []
  })
  const names = listOrNone(container.env).map((entry) => asFields(entry)?.name)
  return [...new Set(added)].flatMap((name) => {
    const all = names.flatMap((other, index) => (other === name ? [index] : []))
    return all.slice(-added.filter((other) => other === name).length)
  })
}

/**
 * Returns the variables that the status annotation must list after an injection. The template may
 * already have tools from earlier injections. A name occurs once for each added entry. If the tools
 * have different targets, the name of the target and a slash precede each name, such as
 * `app/LD_PRELOAD`.
 *
 * @param template the template before the injection
 * @param earlier its status annotation; undefined if it has none
 * @param status the new status annotation
 * @param target the name of the target of the injection
 */
export function joinVariables(
  template: Fields,
  earlier: Fields | undefined,
  status: Fields,
  target: string | undefined,
): readonly string[] {
  const [before, added] = [addedVariables(earlier), addedVariables(status)]
  if (earlier === undefined || before.length === 0 || added.length === 0)
    return [...before, ...added]
  const { initContainers, containers } = fieldsOrNone(template.spec)
  const all = [...asObjects(initContainers), ...asObjects(containers)]
  const names = all.filter((one) => isToolTarget(one, earlier)).map(({ name }) => name)
  if (names.every((name) => name === target)) return [...before, ...added]
  const qualified = before.map((name) => (name.includes('/') ? name : `${names[0]}/${name}`))
  return [...qualified, ...added.map((name) => `${target}/${name}`)]
}

function addedVariables(status: Fields | undefined): readonly string[] {
  return listOrNone(status?.variables).filter((name) => typeof name === 'string')
}
