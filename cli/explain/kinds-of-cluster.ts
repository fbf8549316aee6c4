import {
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../src/core/kubernetes/json.ts'
import { UsageError } from '../shared/errors.ts'
import type { Reader } from '../shared/reader.ts'

/** A kind that a cluster serves. */
export interface ServedKind {
  readonly group: string
  readonly kind: string
  /** The API path of its group and version: `/apis/batch/v1`. */
  readonly root: string
  readonly plural: string
  readonly names: readonly string[]
}

/**
 * Reads the namespaced kinds that a cluster serves. The core group is first; the other groups
 * follow in the order of the cluster, each in its preferred version.
 */
export async function readKinds({ get, look }: Reader): Promise<readonly ServedKind[]> {
  const listed = listOrNone((await get('/apis'))?.groups).map(fieldsOrNone)
  const roots = listed.flatMap((group) => {
    const version = asText(fieldsOrNone(group.preferredVersion).groupVersion)
    return version === undefined ? [] : [`/apis/${version}`]
  })
  // If an aggregated API server is unavailable, the kinds of the other groups are still returned.
  const lists = await Promise.all(roots.map(look))
  const others = lists.map((list) => ('value' in list ? list.value : undefined))
  const core = kindsIn('/api/v1', await get('/api/v1'))
  return [...core, ...roots.flatMap((root, index) => kindsIn(root, others[index]))]
}

function kindsIn(root: string, list: Fields | undefined): readonly ServedKind[] {
  const resources = listOrNone(list?.resources).map(fieldsOrNone)
  const group = root === '/api/v1' ? '' : (root.split('/')[2] ?? '')
  return resources.flatMap((resource) => {
    const { name: plural, kind, singularName, shortNames, namespaced } = resource
    if (typeof plural !== 'string' || typeof kind !== 'string') return []
    if (namespaced !== true || plural.includes('/')) return []
    const names = [kind, plural, singularName, ...listOrNone(shortNames)]
    return [{ group, kind, root, plural, names: names.map((one) => String(one).toLowerCase()) }]
  })
}

/**
 * Finds a kind by its name, its plural, its singular or a short name, optionally followed by a dot
 * and its group.
 *
 * @throws UsageError if the cluster serves no namespaced kind of this name
 */
export function kindNamed(kinds: readonly ServedKind[], word: string): ServedKind {
  const [name = '', ...group] = word.toLowerCase().split('.')
  const found = kinds.find((kind) => {
    return kind.names.includes(name) && (group.length === 0 || kind.group === group.join('.'))
  })
  if (found === undefined)
    throw new UsageError(
      `the cluster has no namespaced kind "${word}"; kubectl api-resources lists its kinds`,
    )
  return found
}

/**
 * Returns the pods that an object owns, directly or through any number of controllers.
 *
 * @param kinds the kinds of the cluster, for the API paths of controllers
 */
export async function podsFrom(
  reader: Reader,
  kinds: readonly ServedKind[],
  object: Fields,
  namespace: string,
): Promise<readonly Fields[]> {
  const pods = asObjects((await reader.get(`/api/v1/namespaces/${namespace}/pods`))?.items)
  const wanted = readUid(object)
  const known = new Map<string, Promise<boolean>>()
  const isFrom = async (one: Fields): Promise<boolean> => {
    const owners = listOrNone(fieldsOrNone(one.metadata).ownerReferences).map(fieldsOrNone)
    const owner = owners.find(({ controller }) => controller === true) ?? owners[0]
    if (owner === undefined) return false
    const uid = String(owner.uid)
    if (uid === wanted) return true
    const answer = known.get(uid) ?? above(owner)
    known.set(uid, answer)
    return answer
  }
  const above = async (owner: Fields): Promise<boolean> => {
    const [group = ''] = String(owner.apiVersion).includes('/')
      ? String(owner.apiVersion).split('/')
      : []
    const kind = kinds.find((one) => one.kind === owner.kind && one.group === group)
    if (kind === undefined) return false
    const path = `${kind.root}/namespaces/${namespace}/${kind.plural}/${String(owner.name)}`
    const found = await reader.look(path)
    return 'value' in found && found.value !== undefined && (await isFrom(found.value))
  }
  const answers = await Promise.all(pods.map(isFrom))
  return pods.filter((_, index) => answers[index])
}

function readUid({ metadata }: Fields): string {
  return String(fieldsOrNone(metadata).uid)
}
