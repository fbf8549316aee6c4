import type { Catalog, ObserverContainer } from '../catalog.ts'
import { asObjects, asText, type Fields, fieldsOrNone, listOrNone } from '../kubernetes/json.ts'
import { quote } from '../text/quote.ts'

/** A container that has the name of an observer and is not the one that the catalog describes. */
export interface Difference {
  readonly name: string
  /** How it differs, with both values, as a sentence without its period. */
  readonly sentence: string
  /** Whether it runs the command of the catalog's observer, from another image. */
  readonly isImageOnly: boolean
}

/** Which list of the pod a container is in. */
export type ContainerList = 'initContainers' | 'containers' | 'ephemeralContainers'

/**
 * Compares a container with the observer of its name in the catalog: image, command and args, word by
 * word, and the list of the pod that it is in. Other fields may differ: other webhooks add variables
 * and mounts and change the pull policy.
 *
 * @param container a core/v1 Container that nobody has validated
 * @returns nothing where it is the catalog's observer
 */
export function differenceFrom(
  catalog: Catalog,
  container: Fields,
  list: ContainerList,
): Difference | undefined {
  const name = asText(container.name) ?? ''
  const offered = catalog.metrics.get(name)?.container
  if (offered === undefined) {
    const sentence = `container ${nameOf(name)} has the name of no metric of the catalog`
    return { name, sentence, isImageOnly: false }
  }
  const command = commandDifference(container, offered) ?? placeDifference(container, list)
  const image = container.image === offered.image ? undefined : imageDifference(container, offered)
  const sentence = [image, command].filter((part) => part !== undefined).join('; ')
  if (sentence === '') return undefined
  return { name, sentence: `container ${name} ${sentence}`, isImageOnly: command === undefined }
}

/** The name of a container in a message: quoted where it is none that Kubernetes allows. */
export function nameOf(name: string): string {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name) ? name : quote(name)
}

/** Whether a container has the command and the args of the observer of its name, word by word. */
export function hasCommandOfCatalog(catalog: Catalog, container: Fields): boolean {
  const offered = catalog.metrics.get(asText(container.name) ?? '')?.container
  return offered !== undefined && commandDifference(container, offered) === undefined
}

function imageDifference({ image }: Fields, offered: ObserverContainer): string {
  const own = asText(image) === undefined ? 'no image' : `image ${quote(String(image))}`
  return `runs ${own}, and the catalog's image is ${quote(offered.image)}`
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
  const own = listOrNone(container[key])
  const wanted = offered[key] ?? []
  const isSame = own.length === wanted.length && wanted.every((word, place) => own[place] === word)
  return isSame ? undefined : `has ${key} ${inWords(own)}, and the catalog's is ${inWords(wanted)}`
}

/** A few words are enough for a message, of a command that may have a million. */
const MOST_WORDS = 16

function inWords(words: readonly unknown[]): string {
  const text = words.slice(0, MOST_WORDS).map((word) => asText(word) ?? '?')
  return words.length === 0 ? 'empty' : quote(text.join(' '))
}

/** An observer in an ordinary container must end by itself, which only one of mode `container` does. */
function placeDifference({ env }: Fields, list: ContainerList): string | undefined {
  if (list === 'initContainers') return undefined
  const isEnding = asObjects(env).some(
    ({ name, value }) => name === 'RIDEALONG_MODE' && value === 'container',
  )
  return isEnding ? undefined : 'is an ordinary container without RIDEALONG_MODE=container'
}

/** The container of that name in a pod's spec, and the list that it is in. */
export function findContainer(
  spec: Fields,
  name: string,
): { readonly container: Fields; readonly list: ContainerList } | undefined {
  for (const list of ['initContainers', 'containers'] as const) {
    const container = listOrNone(spec[list]).find((one) => fieldsOrNone(one).name === name)
    if (container !== undefined) return { container: fieldsOrNone(container), list }
  }
  return undefined
}

/**
 * Compares all containers that a pod's status names with the catalog's observers.
 *
 * @param names of the observers that the status says were added; one that is not there is skipped
 */
export function differencesFrom(
  catalog: Catalog,
  spec: Fields,
  names: readonly string[],
): readonly Difference[] {
  return [...new Set(names)].flatMap((name) => {
    const found = findContainer(spec, name)
    return (found && differenceFrom(catalog, found.container, found.list)) ?? []
  })
}
