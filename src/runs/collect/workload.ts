import type { PodSelection } from '../../cluster/pods.ts'
import { findSimilar } from '../../core/text/similar.ts'
import { findKnownKind, KIND_WORDS, type KnownKind } from './workload-kinds.ts'

/** The chosen pods. */
export type Chosen = (Exclude<PodSelection, { by: 'namespace' }> | OwnedPods) & {
  /** The name of the workload for messages: KIND/NAME, or the selector. */
  readonly words: string
}

/** The pods that a workload controls, directly or through other controllers. */
export interface OwnedPods {
  readonly by: 'owner'
  readonly owner: WantedOwner
  /**
   * The kinds between the pods and the workload, as GROUP/KIND; undefined if they are not known.
   */
  readonly through: readonly string[] | undefined
}

/** A workload as the user names it. */
export interface WantedOwner {
  readonly group: string
  /** The kind, or one of its names in lower case if `isExact` is false. */
  readonly kind: string
  readonly isExact: boolean
  readonly name: string
}

/** RFC 1123 subdomain, the format of the names of Kubernetes objects. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** The names of the kind Pod. */
const POD_NAMES: readonly string[] = ['pod', 'pods', 'po']

/** The version in the form KIND.VERSION.GROUP of kubectl. */
const VERSION = /^v\d+((alpha|beta)\d+)?$/

/** The kind of a run that an archive has stored: run/NAME. */
export const STORED_RUN = 'run'

/**
 * Joins each kind and the name after it to KIND/NAME, because kubectl reads both. Other words, and
 * kinds that are known only to the cluster, are left as they are.
 *
 * @param isFile reports whether a word is the path of a file or folder; two such words are not
 * joined
 */
export function joinNames(
  words: readonly string[],
  isFile: (word: string) => boolean,
): readonly string[] {
  const joined: string[] = []
  for (const word of words) {
    const kind = joined.at(-1)
    const isName = kind !== undefined && isKind(kind) && NAME.test(word)
    if (!isName || (isFile(kind) && isFile(word))) joined.push(word)
    else joined.splice(-1, 1, `${kind}/${word}`)
  }
  return joined
}

function isKind(word: string): boolean {
  const [kind = '', ...group] = word.toLowerCase().split('.')
  const isPlain = group.length === 0 && [STORED_RUN, ...POD_NAMES].includes(kind)
  return isPlain || findKnownKind(kind, group.join('.')) !== undefined
}

/**
 * Parses KIND/NAME as kubectl does: in upper or lower case, singular or plural, with or without a
 * group. A kind without group must be in `KNOWN_KINDS`.
 *
 * @returns the pods to look for, or a sentence with the problem
 */
export function readWorkload(written: string): Chosen | { readonly problem: string } {
  const [, kind = '', name = ''] = /^([^/]+)\/([^/]+)$/.exec(written) ?? []
  if (!NAME.test(name)) return { problem: `"${written}" is not KIND/NAME, such as job/lammps` }
  const [word = '', ...parts] = kind.toLowerCase().split('.')
  const group = parts.filter((part, index) => index > 0 || !VERSION.test(part)).join('.')
  if (group === '' && POD_NAMES.includes(word)) return { by: 'name', name, words: `pod/${name}` }
  const known = findKnownKind(word, group)
  if (known !== undefined) return chooseKnown(known, name)
  return word !== '' && NAME.test(group)
    ? chooseOwned({ group, kind: word, isExact: false, name })
    : { problem: needsGroup(kind, name) }
}

/** Returns the pods of a workload whose kind only the cluster knows. */
function chooseOwned(owner: WantedOwner): Chosen {
  const words = `${owner.kind}.${owner.group}/${owner.name}`
  return { by: 'owner', owner, through: undefined, words }
}

function needsGroup(kind: string, name: string): string {
  const meant = findSimilar(kind.toLowerCase(), KIND_WORDS)
  const problem =
    meant === undefined
      ? `needs its API group, such as workflow.argoproj.io/${name}`
      : `is not known (did you mean ${meant}/${name}?)`
  return `kind "${kind}" ${problem}; kinds that need no group are ${KIND_WORDS.join(', ')}`
}

function chooseKnown({ word, group, kind, pods }: KnownKind, name: string): Chosen {
  const words = `${word}/${name}`
  if ('label' in pods) return { by: 'labels', selector: `${pods.label}=${name}`, words }
  const owner = { group, kind, isExact: true, name }
  return { by: 'owner', owner, through: pods.through, words }
}

/**
 * Returns the selection of pods for a label selector in the syntax of kubectl. The apiserver
 * validates the selector.
 */
export function readSelector(selector: string): Chosen {
  return { by: 'labels', selector, words: `selector ${selector}` }
}
