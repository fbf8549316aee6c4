import { ApiError, isMissing } from '../../../src/cluster/api-error.ts'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { pathOfResource, readServedKinds } from '../../../src/cluster/discovery.ts'
import { groupOf } from '../../../src/core/kubernetes/group.ts'
import { asText, type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import type { OwnerReference } from '../../../src/core/kubernetes/owner-reference.ts'
import {
  type ControllerFacts,
  type Controllers,
  climbControllers,
  NO_FACTS,
  readControllerFacts,
} from '../../../src/runs/collect/run-controllers.ts'
import { findKindOfGroup } from '../../../src/runs/collect/workload-kinds.ts'
import type { RunPod } from '../../../src/runs/facts/pod-facts.ts'

/** The controllers of remembered pods, each read on its own. */
export interface ControllerMemory {
  /** Returns the controllers that are known in a namespace. */
  in(namespace: string): Controllers
  /**
   * Reads a controller, without remembering it.
   *
   * @returns undefined if its kind cannot be read
   * @throws ApiError other than 403 and 404, or a network error
   */
  read(namespace: string, reference: OwnerReference): Promise<ControllerFacts | undefined>
  /**
   * Reads the controllers above a pod that are not known yet.
   *
   * @throws ApiError other than 403 and 404, or a network error
   */
  resolve(pod: RunPod): Promise<void>
  /**
   * Reads all controllers above the pods of a namespace again, except those that cannot change.
   *
   * @throws ApiError other than 403 and 404, or a network error
   */
  refresh(pods: readonly RunPod[]): Promise<void>
  /** Forgets the controllers above the pods of a namespace. */
  forget(pods: readonly RunPod[]): void
}

export interface ControllerMemoryOptions {
  readonly api: Apiserver
  readonly answerMs: number
  /** Called at the first reading of a kind that is forbidden. */
  onForbidden(resource: string): void
}

type KnownFacts = Map<string, ControllerFacts>

/** The most controllers above a pod: TrainJob, JobSet, Job have three. */
const MAX_LEVELS = 8

/**
 * Only the controllers of known kinds are read. A reference counts only within its namespace: the
 * author of a pod can write any UID into it.
 */
export function createControllerMemory(options: ControllerMemoryOptions): ControllerMemory {
  const byNamespace = new Map<string, KnownFacts>()
  const factsIn = (namespace: string): KnownFacts => byNamespace.get(namespace) ?? new Map()
  const read = shareReadings(createReader(options))
  const climb = async ({ namespace, controller }: RunPod, isFresh: (uid: string) => boolean) => {
    const known = factsIn(namespace)
    byNamespace.set(namespace, known)
    const find = async (reference: OwnerReference) => {
      const before = known.get(reference.uid)
      if (before !== undefined && (isFinal(reference, before) || isFresh(reference.uid)))
        return before
      const found = await read(namespace, reference, before)
      if (found !== undefined) known.set(reference.uid, found)
      return found
    }
    let next = controller
    for (let level = 0; level < MAX_LEVELS && next !== undefined; level += 1)
      next = (await find(next))?.controller
  }
  return {
    in(namespace) {
      const known = factsIn(namespace)
      return { above: (controller) => climbControllers(known, controller), forbidden: [] }
    },
    read: (namespace, reference) => read(namespace, reference, undefined),
    resolve: (pod) => climb(pod, () => true),
    async refresh(pods) {
      const fresh = new Set<string>()
      const isFresh = (uid: string) => fresh.has(uid) || !fresh.add(uid)
      const nearest = new Map(pods.map((pod) => [pod.controller?.uid, pod]))
      for (const pod of nearest.values()) await climb(pod, isFresh)
    },
    forget(pods) {
      for (const { namespace, controller } of pods) {
        const known = factsIn(namespace)
        for (const { reference } of climbControllers(known, controller)) known.delete(reference.uid)
        if (known.size === 0) byNamespace.delete(namespace)
      }
    },
  }
}

/** Returns the GROUP/KIND of a controller whose kind is known; otherwise undefined. */
function findReadableKind({ apiVersion, kind }: OwnerReference): string | undefined {
  const group = groupOf(apiVersion)
  const isBetween = group === 'apps' && kind === 'ReplicaSet'
  const isPod = apiVersion === 'v1' && kind === 'Pod'
  const isReadable = isBetween || isPod || findKindOfGroup(group, kind) !== undefined
  return isReadable ? `${group}/${kind}` : undefined
}

/**
 * The UID of a deleted object is never used again. The end of a Job does not change (Kubernetes,
 * pkg/apis/batch/validation, RejectDisablingTerminalCondition); other workloads can start again.
 */
function isFinal({ apiVersion, kind }: OwnerReference, facts: ControllerFacts): boolean {
  const isJob = groupOf(apiVersion) === 'batch' && kind === 'Job'
  return facts.isGone || (isJob && facts.finished !== null)
}

type Read = (
  namespace: string,
  reference: OwnerReference,
  before: ControllerFacts | undefined,
) => Promise<ControllerFacts | undefined>

/** Returns a function that reads a controller; undefined if its kind cannot be read. */
function createReader({ api, answerMs, onForbidden }: ControllerMemoryOptions): Read {
  const forbidden = new Set<string>()
  const findPlural = createPluralFinder(api)
  const refuse = (resource: string) => {
    if (!forbidden.has(resource)) onForbidden(resource)
    forbidden.add(resource)
  }
  const get = async (path: string) => {
    return api.ask({ path, signal: AbortSignal.timeout(answerMs) }).catch(readRefusal)
  }
  return async (namespace, reference, before) => {
    const found = await findResource(reference, findPlural)
    if (found === undefined) return undefined
    const { apiVersion, name, uid } = reference
    const root = pathOfResource({ apiVersion, namespace, plural: found.plural })
    const object = await get(`${root}/${encodeURIComponent(name)}`)
    if (object === 'forbidden') {
      refuse(`${found.plural}.${groupOf(apiVersion)}`)
      return before
    }
    const isThere = object !== 'missing' && isOfUid(object, uid)
    return isThere
      ? readControllerFacts(object, found.kind)
      : { ...(before ?? NO_FACTS), isGone: true }
  }
}

/**
 * The pods of a run come together, and a controller that is not known is then read only once. One
 * that is known is read because it may have changed since.
 */
function shareReadings(read: Read): Read {
  const readings = new Map<string, ReturnType<Read>>()
  return (namespace, reference, before) => {
    if (before !== undefined) return read(namespace, reference, before)
    const key = `${namespace}/${reference.uid}`
    const reading =
      readings.get(key) ?? read(namespace, reference, before).finally(() => readings.delete(key))
    readings.set(key, reading)
    return reading
  }
}

/** Finds the kind and the plural of a controller; undefined if its kind cannot be read. */
async function findResource(
  reference: OwnerReference,
  findPlural: (reference: OwnerReference) => Promise<string | undefined>,
) {
  const kind = findReadableKind(reference)
  if (kind === undefined) return undefined
  const plural = await findPlural(reference)
  return plural === undefined ? undefined : { kind, plural }
}

/** Another object that was created later can have the same name. */
function isOfUid({ metadata }: Fields, uid: string): boolean {
  return asText(fieldsOrNone(metadata).uid) === uid
}

/** @throws the error, if it is not 403 or 404 */
function readRefusal(error: unknown): 'missing' | 'forbidden' {
  if (isMissing(error)) return 'missing'
  if (error instanceof ApiError && error.status === 403) return 'forbidden'
  throw error
}

/** Returns a function that finds the plural of a kind; undefined if the kind is not served. */
function createPluralFinder(api: Apiserver) {
  const plurals = new Map<string, string>()
  return async ({ apiVersion, kind }: OwnerReference): Promise<string | undefined> => {
    const key = `${apiVersion} ${kind}`
    const known = plurals.get(key)
    if (known !== undefined) return known
    const served = await readServedKinds(api, apiVersion)
    const plural = served.find((one) => one.kind === kind)?.plural
    if (plural !== undefined) plurals.set(key, plural)
    return plural
  }
}
