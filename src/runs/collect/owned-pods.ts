import { ApiError, isMissing } from '../../cluster/api-error.ts'
import type { Apiserver } from '../../cluster/apiserver.ts'
import {
  pathOfVersion,
  readGroupVersions,
  readServedKinds,
  type ServedKind,
} from '../../cluster/discovery.ts'
import { listObjects } from '../../cluster/list.ts'
import { groupOf } from '../../core/kubernetes/group.ts'
import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { type OwnerReference, readController } from '../../core/kubernetes/owner-reference.ts'
import { didYouMean } from '../../core/text/similar.ts'
import type { OwnedPods, WantedOwner } from './workload.ts'

/** The kind of a workload is not served. The message is a complete sentence for the user. */
export class UnknownKindError extends Error {
  override readonly name = 'UnknownKindError'
}

/** Finds the pods of a workload by their controllers. */
export interface OwnerSearch {
  /**
   * Returns the pods that the workload controls, directly or through other controllers. If a page
   * of pods has unknown controllers, each kind of controller is listed once.
   *
   * @param pods pods of the namespace
   * @throws ApiError, or a network error
   */
  readonly filter: (pods: readonly Fields[]) => Promise<readonly Fields[]>
  /**
   * The resources, such as `jobs.batch`, that the user has no right to list. Pods whose controllers
   * are such resources are missing.
   */
  readonly forbidden: () => readonly string[]
}

interface Search {
  readonly apiserver: Apiserver
  readonly namespace: string
  readonly owner: WantedOwner
  readonly through: readonly string[] | undefined
  /**
   * The controllers of controllers, by UID; null if an object has none or does not exist any more.
   */
  readonly above: Map<string, OwnerReference | null>
  readonly forbidden: Set<string>
}

/**
 * Starts to search for the pods of a workload.
 *
 * @throws UnknownKindError if the cluster does not serve the kind of the workload; ApiError, or a
 * network error
 */
export async function startOwnerSearch(
  { apiserver, namespace }: Pick<Search, 'apiserver' | 'namespace'>,
  { owner, through }: Pick<OwnedPods, 'owner' | 'through'>,
): Promise<OwnerSearch> {
  const wanted = owner.isExact ? owner : await findServed(apiserver, owner)
  const state = { apiserver, namespace, owner: wanted, through }
  const search: Search = { ...state, above: new Map(), forbidden: new Set() }
  return {
    filter: (pods) => filterOwned(search, pods),
    forbidden: () => [...search.forbidden],
  }
}

/** Returns the workload with the kind that the cluster serves under this name. */
async function findServed(apiserver: Apiserver, owner: WantedOwner): Promise<WantedOwner> {
  const { group, kind: word } = owner
  const versions = await readGroupVersions(apiserver, group)
  if (versions.length === 0)
    throw new UnknownKindError(`the cluster serves no API group ${group}, so no ${word}.${group}`)
  const names = new Set<string>()
  for (const version of versions) {
    const kinds = await readServedKinds(apiserver, version)
    const served = kinds.find((kind) => kind.names.includes(word))
    if (served !== undefined) return { ...owner, kind: served.kind, isExact: true }
    for (const { kind } of kinds) names.add(kind.toLowerCase())
  }
  const kind = `${word}${didYouMean(word, names)}`
  throw new UnknownKindError(
    `the API group ${group} has no namespaced kind ${kind}; its kinds are ${[...names].join(', ')}`,
  )
}

async function filterOwned(search: Search, pods: readonly Fields[]): Promise<readonly Fields[]> {
  const listed = new Set<string>()
  const owned: Fields[] = []
  for (const pod of pods) {
    const { ownerReferences } = fieldsOrNone(pod.metadata)
    if (await isOwned(search, readController(ownerReferences), listed)) owned.push(pod)
  }
  return owned
}

/**
 * Reports whether a controller is the workload, or is controlled by it.
 *
 * @param listed the kinds that were listed since the pods were read
 */
async function isOwned(
  search: Search,
  controller: OwnerReference | undefined,
  listed: Set<string>,
): Promise<boolean> {
  const seen = new Set<string>()
  let now = controller
  // The author of a pod or controller can make a circle of references.
  while (now !== undefined && !seen.has(now.uid)) {
    if (isWanted(search.owner, now)) return true
    if (!mayLeadTo(search, now)) return false
    seen.add(now.uid)
    now = await controllerOf(search, now, listed)
  }
  return false
}

function isWanted({ group, kind, name }: WantedOwner, reference: OwnerReference): boolean {
  const isKind = reference.kind === kind && groupOf(reference.apiVersion) === group
  return isKind && reference.name === name
}

function mayLeadTo({ through }: Search, { apiVersion, kind }: OwnerReference): boolean {
  return through === undefined || through.includes(`${groupOf(apiVersion)}/${kind}`)
}

/** Returns the controller of a controller, if it is known or can be listed. */
async function controllerOf(
  search: Search,
  { apiVersion, kind, uid }: OwnerReference,
  listed: Set<string>,
): Promise<OwnerReference | undefined> {
  const key = `${apiVersion} ${kind}`
  if (!search.above.has(uid) && !listed.has(key)) {
    listed.add(key)
    await listControllers(search, apiVersion, kind)
  }
  const found = search.above.get(uid) ?? null
  // An object that a listed pod names was created before the pod, so it will not appear later.
  search.above.set(uid, found)
  return found ?? undefined
}

async function listControllers(search: Search, apiVersion: string, kind: string): Promise<void> {
  const { apiserver, namespace, above, forbidden } = search
  const kinds = await readServedKinds(apiserver, apiVersion)
  const served = kinds.find((one) => one.kind === kind)
  if (served === undefined) return
  const path = `${pathOfVersion(apiVersion)}/namespaces/${encodeURIComponent(namespace)}`
  const call = { path: `${path}/${served.plural}`, metadataOnly: true }
  const read = async (objects: readonly Fields[]) => {
    for (const { metadata } of objects) {
      const { uid, ownerReferences } = fieldsOrNone(metadata)
      above.set(asText(uid) ?? '', readController(ownerReferences) ?? null)
    }
    return []
  }
  await listObjects(apiserver, call, read).catch((error: unknown) => {
    if (isForbidden(error)) forbidden.add(resourceName(served))
    else if (!isMissing(error)) throw error
  })
}

function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403
}

/** Returns the name of a resource as kubectl writes it: `jobs.batch`, or `pods`. */
function resourceName({ plural, group }: ServedKind): string {
  return group === '' ? plural : `${plural}.${group}`
}
