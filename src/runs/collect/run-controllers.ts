import { ApiError, isMissing } from '../../cluster/api-error.ts'
import type { Apiserver } from '../../cluster/apiserver.ts'
import { pathOfResource, readServedKinds } from '../../cluster/discovery.ts'
import { listObjects } from '../../cluster/list.ts'
import { groupOf } from '../../core/kubernetes/group.ts'
import { asObjects, asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { type OwnerReference, readController } from '../../core/kubernetes/owner-reference.ts'
import { readTime } from '../../lib/rfc3339.ts'
import { findKindOfGroup } from './workload-kinds.ts'

/** What the controller of pods, or of other controllers, says of itself. */
export interface ControllerFacts {
  readonly controller: OwnerReference | undefined
  /** How it ended; null if it has not ended, or does not say so. */
  readonly finished: 'Succeeded' | 'Failed' | null
  /** The number of pods that must succeed, if it is a Job of Kubernetes. */
  readonly pods: number | null
  /**
   * When it was created or, if its status says so, started: a Job of Kubernetes starts again when
   * it is resumed. Milliseconds since 1970; null if it is not known.
   */
  readonly begun: number | null
  /** The number of its pods that have failed, if it is a Job of Kubernetes. */
  readonly failed: number | null
  /** Whether it has been deleted. The facts are then those of its last reading. */
  readonly isGone: boolean
}

/** The facts about a controller of which nothing has been read. */
export const NO_FACTS: ControllerFacts = {
  controller: undefined,
  finished: null,
  pods: null,
  begun: null,
  failed: null,
  isGone: false,
}

/** A controller of a pod, and what is known of it; undefined if it could not be listed. */
export interface ListedController {
  readonly reference: OwnerReference
  /** The API group of its kind. */
  readonly group: string
  readonly facts: ControllerFacts | undefined
}

/** The controllers above pods. */
export interface Controllers {
  /** Returns the controllers above a pod, the nearest one first. */
  readonly above: (controller: OwnerReference | undefined) => readonly ListedController[]
  /** The resources, such as `jobs.batch`, that the user has no right to list. */
  readonly forbidden: readonly string[]
}

/** The place of pods: a namespace, or all if it is undefined. */
export interface PodPlace {
  readonly apiserver: Apiserver
  readonly namespace: string | undefined
}

/** The most controllers above a pod: TrainJob, JobSet, Job have three. */
const MAX_LEVELS = 8

/**
 * Lists the controllers of pods, and the controllers of these: each kind once, and of a kind of
 * which there is only one controller, only this one.
 *
 * @param pods the controllers of the pods themselves, such as the driver of a SparkApplication
 * @throws ApiError other than 403 and 404, or a network error
 */
export async function listControllers(
  place: PodPlace,
  nearest: readonly OwnerReference[],
  pods: ReadonlyMap<string, ControllerFacts>,
): Promise<Controllers> {
  const known = new Map(pods)
  const forbidden = new Set<string>()
  const listed = new Set<string>()
  const list = async (own: readonly OwnerReference[]) => {
    const [first, ...others] = own
    if (first === undefined || listed.has(kindKey(first))) return
    // The only controller is found by its name; a namespace can have thousands of others.
    const isOnly = others.every(({ name }) => name === first.name)
    if (!isOnly) listed.add(kindKey(first))
    const right = await listKind(place, first, isOnly, known)
    if (right !== undefined) forbidden.add(right)
  }
  let next = nearest
  for (let level = 0; level < MAX_LEVELS && next.length > 0; level += 1) {
    const unknown = next.filter(({ uid }) => !known.has(uid))
    for (const own of Map.groupBy(unknown, kindKey).values()) await list(own)
    next = next.flatMap(({ uid }) => known.get(uid)?.controller ?? [])
  }
  return { above: (controller) => climbControllers(known, controller), forbidden: [...forbidden] }
}

function kindKey({ apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>): string {
  return `${apiVersion} ${kind}`
}

/** Returns the controllers above a pod, the nearest one first. @param known by UID */
export function climbControllers(
  known: ReadonlyMap<string, ControllerFacts>,
  nearest: OwnerReference | undefined,
): readonly ListedController[] {
  const found: ListedController[] = []
  // The author of a pod or controller can make a circle of references.
  for (let now = nearest; now !== undefined && found.length < MAX_LEVELS; ) {
    const facts = known.get(now.uid)
    found.push({ reference: now, group: groupOf(now.apiVersion), facts })
    now = facts?.controller
  }
  return found
}

/**
 * Lists the objects of a kind.
 *
 * @param isOnly whether to list only those with the name of this one
 * @returns the resource if the user has no right to list it
 */
async function listKind(
  { apiserver, namespace }: PodPlace,
  { apiVersion, kind, name }: OwnerReference,
  isOnly: boolean,
  known: Map<string, ControllerFacts>,
): Promise<string | undefined> {
  const served = await readServedKinds(apiserver, apiVersion)
  const found = served.find((one) => one.kind === kind)
  if (found === undefined) return undefined
  const { plural, group } = found
  const path = pathOfResource({ apiVersion, namespace, plural })
  const read = async (objects: readonly Fields[]) => {
    for (const object of objects) {
      const uid = asText(fieldsOrNone(object.metadata).uid)
      if (uid !== undefined) known.set(uid, readControllerFacts(object, `${group}/${kind}`))
    }
    return []
  }
  try {
    const query = isOnly ? { fieldSelector: `metadata.name=${name}` } : {}
    await listObjects(apiserver, { path, query, metadataOnly: !hasStatus(apiVersion, kind) }, read)
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return `${plural}.${group}`
    if (!isMissing(error)) throw error
  }
  return undefined
}

/** Reports whether the status of a kind says that it has ended. Others are listed without it. */
function hasStatus(apiVersion: string, kind: string): boolean {
  const group = groupOf(apiVersion)
  return group !== 'apps' && findKindOfGroup(group, kind) !== undefined
}

/** Reads the facts about a controller. @param kind its GROUP/KIND */
export function readControllerFacts(
  { metadata, spec, status }: Fields,
  kind: string,
): ControllerFacts {
  const isJob = kind === 'batch/Job'
  return {
    controller: readController(fieldsOrNone(metadata).ownerReferences),
    finished: readFinished(fieldsOrNone(status)),
    pods: isJob ? readPods(fieldsOrNone(spec)) : null,
    begun:
      readTime(fieldsOrNone(status).startTime) ??
      readTime(fieldsOrNone(metadata).creationTimestamp),
    failed: isJob ? readFailed(fieldsOrNone(status)) : null,
    isGone: false,
  }
}

/**
 * The words for the end of a workload: of conditions (Job, JobSet, TrainJob, MPIJob, PyTorchJob),
 * and of the states of Volcano's Job, RayJob and SparkApplication, in lower case.
 */
const SUCCEEDED = ['complete', 'completed', 'succeeded']
const FAILED = ['failed', 'aborted', 'terminated']

function readFinished({ conditions, state, jobStatus, applicationState }: Fields) {
  const states = [
    ...asObjects(conditions).flatMap(({ type, status }) => (status === 'True' ? type : [])),
    fieldsOrNone(state).phase,
    jobStatus,
    fieldsOrNone(applicationState).state,
  ].map((word) => asText(word)?.toLowerCase() ?? '')
  if (states.some((word) => FAILED.includes(word))) return 'Failed'
  return states.some((word) => SUCCEEDED.includes(word)) ? 'Succeeded' : null
}

/** Kubernetes' default for both is 1 (pkg/apis/batch/v1/defaults.go, SetDefaults_Job). */
function readPods({ completions, parallelism }: Fields): number {
  const numbers = [completions, parallelism].filter((one) => typeof one === 'number')
  return numbers[0] ?? 1
}

function readFailed({ failed }: Fields): number {
  return typeof failed === 'number' ? failed : 0
}
