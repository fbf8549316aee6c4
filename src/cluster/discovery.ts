import { groupOf } from '../core/kubernetes/group.ts'
import { asObjects, asText, type Fields, fieldsOrNone } from '../core/kubernetes/json.ts'
import { isMissing } from './api-error.ts'
import type { Apiserver } from './apiserver.ts'
import { getFields } from './list.ts'

/** A namespaced kind that a cluster serves. */
export interface ServedKind {
  readonly group: string
  readonly kind: string
  /** The API path of its group and version: `/apis/batch/v1`. */
  readonly root: string
  readonly plural: string
  /** The names of the kind in lower case: kind, plural, singular and short names. */
  readonly names: readonly string[]
}

/** Returns the API path of a group and version: `/apis/batch/v1`, or `/api/v1`. */
export function pathOfVersion(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
}

/** Returns the API path of a resource in a namespace; in all namespaces if it is undefined. */
export function pathOfResource({
  apiVersion,
  namespace,
  plural,
}: {
  readonly apiVersion: string
  readonly namespace: string | undefined
  readonly plural: string
}): string {
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${pathOfVersion(apiVersion)}${scope}/${plural}`
}

/** Reads the namespaced kinds in an APIResourceList. @param apiVersion its group and version */
export function kindsIn(apiVersion: string, list: Fields | undefined): readonly ServedKind[] {
  const [root, group] = [pathOfVersion(apiVersion), groupOf(apiVersion)]
  return asObjects(list?.resources).flatMap((resource) => {
    const { name: plural, kind, singularName, shortNames, namespaced } = resource
    if (typeof plural !== 'string' || typeof kind !== 'string') return []
    if (namespaced !== true || plural.includes('/')) return []
    const names = [kind, plural, singularName, ...(Array.isArray(shortNames) ? shortNames : [])]
    return [{ group, kind, root, plural, names: names.map((one) => String(one).toLowerCase()) }]
  })
}

/**
 * Reads the namespaced kinds of a group and version; none if the cluster does not serve them.
 *
 * @throws ApiError, or a network error
 */
export async function readServedKinds(
  apiserver: Apiserver,
  apiVersion: string,
): Promise<readonly ServedKind[]> {
  return kindsIn(apiVersion, await getIfServed(apiserver, pathOfVersion(apiVersion)))
}

/**
 * Reads the versions of an API group, such as `batch/v1`, the most preferred one first; none if the
 * cluster does not serve the group.
 *
 * @throws ApiError, or a network error
 */
export async function readGroupVersions(
  apiserver: Apiserver,
  group: string,
): Promise<readonly string[]> {
  const served = await getIfServed(apiserver, `/apis/${encodeURIComponent(group)}`)
  const versions = [fieldsOrNone(served?.preferredVersion), ...asObjects(served?.versions)]
  return [...new Set(versions.flatMap(({ groupVersion }) => asText(groupVersion) ?? []))]
}

async function getIfServed(apiserver: Apiserver, path: string): Promise<Fields | undefined> {
  return getFields(apiserver, { path }).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
}
