import type { Catalog, ObserverContainer } from '../catalog.ts'
import { asObjects, asText, type Fields, fieldsOrNone, listOrNone } from '../kubernetes/json.ts'
import { quote } from '../text/quote.ts'
import { toolDifference } from '../tools/installed-tool.ts'

/** A difference between a container, or its tool, and the catalog's observer of the same name. */
export interface Difference {
  readonly name: string
  /** The difference with both values, as a sentence without the final period. */
  readonly sentence: string
  /** Whether the container has the command of the observer: only the image or the tool differs. */
  readonly isCommandSame: boolean
}

/** The list of the pod's spec that contains a container. */
export type ContainerList = MainList | 'ephemeralContainers'
export type MainList = 'initContainers' | 'containers'

/**
 * Compares the image, the command and the args of a container with the catalog's observer of the
 * same name. Outside initContainers, a container must also have the variable
 * `RIDEALONG_MODE=container`. Other fields may differ, because other webhooks add variables and
 * mounts and change the pull policy.
 *
 * @param container a core/v1 Container that has not been validated
 * @returns undefined if the container matches the catalog's observer
 */
export function differenceFrom(
  catalog: Catalog,
  container: Fields,
  list: ContainerList,
): Difference | undefined {
  const name = asText(container.name) ?? ''
  const offered = catalog.metrics.get(name)?.container
  if (offered === undefined) {
    const sentence = `container ${nameOf(name)} does not have the name of a metric of the catalog`
    return { name, sentence, isCommandSame: false }
  }
  const command = commandDifference(container, offered) ?? placeDifference(container, list)
  const image = container.image === offered.image ? undefined : imageDifference(container, offered)
  const sentence = [image, command].filter((part) => part !== undefined).join(' and ')
  if (sentence === '') return undefined
  const isCommandSame = command === undefined
  return { name, sentence: `container ${name} has ${sentence}`, isCommandSame }
}

/**
 * Compares an observer and, if the container itself matches, the installer and the mounts of its
 * tool with the catalog.
 *
 * @param spec the pod's spec, which has not been validated
 */
export function observerDifference(
  catalog: Catalog,
  spec: Fields,
  container: Fields,
  list: ContainerList,
): Difference | undefined {
  const name = asText(container.name) ?? ''
  const sentence = () => toolDifference(catalog.metrics.get(name)?.tool, spec, container)
  return differenceFrom(catalog, container, list) ?? inTool(name, sentence())
}

function inTool(name: string, sentence: string | undefined): Difference | undefined {
  return sentence === undefined ? undefined : { name, sentence, isCommandSame: true }
}

/**
 * Formats the name of a container for a message. A name that Kubernetes does not allow is quoted.
 */
export function nameOf(name: string): string {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name) ? name : quote(name)
}

/**
 * Reports whether a container has the command and args of the catalog's observer of the same name.
 */
export function hasCommandOfCatalog(catalog: Catalog, container: Fields): boolean {
  const offered = catalog.metrics.get(asText(container.name) ?? '')?.container
  return offered !== undefined && commandDifference(container, offered) === undefined
}

function imageDifference({ image }: Fields, offered: ObserverContainer): string {
  const own = asText(image) === undefined ? 'no image' : `image ${quote(String(image))}`
  return `${own} instead of the catalog's ${quote(offered.image)}`
}

function commandDifference(container: Fields, offered: ObserverContainer): string | undefined {
  return (
    wordsDifference(container, offered, 'command') ?? wordsDifference(container, offered, 'args')
  )
}

function wordsDifference(
  container: Fields,
  offered: ObserverContainer,
  key: 'command' | 'args',
): string | undefined {
  const words = listOrNone(container[key])
  const wanted = offered[key] ?? []
  const isSame =
    words.length === wanted.length && wanted.every((word, place) => words[place] === word)
  if (isSame) return undefined
  const found = words.length === 0 ? `no ${key}` : `${key} ${inWords(words)}`
  return wanted.length === 0
    ? `${found}, but the catalog's observer has none`
    : `${found} instead of the catalog's ${inWords(wanted)}`
}

/** The maximum number of words of a command in a message. A command may have a million words. */
const MAX_WORDS = 16

function inWords(words: readonly unknown[]): string {
  const text = words.slice(0, MAX_WORDS).map((word) => asText(word) ?? '?')
  return quote(text.join(' '))
}

/**
 * Reports an ordinary container whose observer does not run in mode `container`. An observer in an
 * ordinary container must exit by itself, and observers do so only in that mode.
 */
function placeDifference({ env }: Fields, list: ContainerList): string | undefined {
  if (list === 'initContainers') return undefined
  const isEnding = asObjects(env).some(
    ({ name, value }) => name === 'RIDEALONG_MODE' && value === 'container',
  )
  return isEnding ? undefined : 'no RIDEALONG_MODE=container, which an ordinary container needs'
}

/** The variable with the revision of the catalog, which every observer gets. */
export const CATALOG_VARIABLE = 'RIDEALONG_CATALOG'

/** Reports whether a container has the variable that every observer gets. */
export function isObserver({ env }: Fields): boolean {
  return asObjects(env).some(({ name }) => name === CATALOG_VARIABLE)
}

/**
 * Returns the names of the observers in a pod's spec, whether or not a status lists them. A copy by
 * `kubectl debug` has the observers of the copied pod, but none of its annotations.
 */
export function listObservers(spec: Fields): readonly string[] {
  const containers = [...asObjects(spec.initContainers), ...asObjects(spec.containers)]
  return containers.filter(isObserver).flatMap(({ name }) => asText(name) ?? [])
}

/** Returns the container with the given name in a pod's spec, and the list that contains it. */
export function findContainer(
  spec: Fields,
  name: string,
): { readonly container: Fields; readonly list: MainList } | undefined {
  for (const list of ['initContainers', 'containers'] as const) {
    const container = listOrNone(spec[list]).find((one) => fieldsOrNone(one).name === name)
    if (container !== undefined) return { container: fieldsOrNone(container), list }
  }
  return undefined
}

/**
 * Lists the differences between the catalog's observers, with their tools, and the containers that
 * a pod's status annotation names.
 *
 * @param names the names of the observers that the annotation lists as added; names for which the
 * pod has no container are ignored
 */
export function differencesFrom(
  catalog: Catalog,
  spec: Fields,
  names: readonly string[],
): readonly Difference[] {
  return [...new Set(names)].flatMap((name) => {
    const found = findContainer(spec, name)
    return (found && observerDifference(catalog, spec, found.container, found.list)) ?? []
  })
}
