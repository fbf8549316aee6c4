import { asObjects, asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { readTime } from '../../lib/rfc3339.ts'
import { maximum, minimum } from '../../lib/statistics.ts'
import { type ContainerRun, countRestarts, joinRuns, readRuns } from './container-runs.ts'

/**
 * A time in milliseconds since 1970. Null: the event has happened, but the status does not have
 * its time. Undefined: it has not happened yet.
 */
export type EventTime = number | null | undefined

/** The parts of the time of a pod before its application starts, in order. */
export type PodStage = 'scheduling' | 'preparing' | 'observers' | 'init' | 'pulling'

/** A boundary in the time of a pod. */
export interface Mark {
  /** The part that ends at the boundary. */
  readonly part: PodStage
  /** What happens there, as a clause: `it was scheduled`. */
  readonly event: string
  readonly at: EventTime
}

/** The starts of a container of the application. */
export interface ContainerStarts {
  readonly name: string
  readonly first: EventTime
  /** The start of the last attempt; undefined if the container waits for its next start. */
  readonly last: EventTime
  /** How often it was started again. */
  readonly restarts: number
  /** The runs that are known, the earliest one first. */
  readonly runs: readonly ContainerRun[]
}

/** The times in the status of a pod. */
export interface PodHistory {
  /** From the creation of the pod to the first start of its application, in order. */
  readonly marks: readonly Mark[]
  /** The containers of the application. */
  readonly starts: readonly ContainerStarts[]
  /** When its deletion was requested; null if it was not. */
  readonly deleted: number | null
  /** When its last container ended, also one of Ridealong; null if one runs, or is not known. */
  readonly ended: number | null
}

/**
 * Reads the times of a pod. The kubelet writes them in whole seconds.
 *
 * @param pod a core/v1 Pod
 * @param ours the names of the containers that Ridealong added
 */
export function readPodHistory(pod: Fields, ours: ReadonlySet<string>): PodHistory {
  const metadata = fieldsOrNone(pod.metadata)
  const spec = fieldsOrNone(pod.spec)
  const status = fieldsOrNone(pod.status)
  const starts = readStarts(status, ours)
  const first = firstStart(starts)
  const images = [
    ...asObjects(spec.initContainers).flatMap((container) => {
      const found = asObjects(status.initContainerStatuses).find(
        ({ name }) => name === container.name,
      )
      return markInitContainer(container, ours, readInitRun(fieldsOrNone(found), starts))
    }),
    { part: 'pulling', event: 'its application started first', at: first } as const,
  ]
  return {
    marks: [
      { part: 'scheduling', event: 'it was scheduled', at: readScheduled(status, first) },
      // The kubelet sets up the network and the volumes of a pod before its first container.
      ...images.map((mark, index) =>
        index === 0 ? { ...mark, part: 'preparing' as const } : mark,
      ),
    ],
    starts,
    deleted: readDeletion(metadata),
    ended: readEnd(status),
  }
}

/** Returns the first start of the application. */
export function firstStart(starts: readonly ContainerStarts[]): EventTime {
  const known = starts.flatMap(({ first }) => (first === undefined ? [] : [first]))
  if (known.length === 0) return undefined
  return known.includes(null) ? null : minimum(known)
}

function readScheduled({ conditions }: Fields, first: EventTime): EventTime {
  const found = fieldsOrNone(asObjects(conditions).find(({ type }) => type === 'PodScheduled'))
  if (found.status === 'True') return readTime(found.lastTransitionTime)
  return first === undefined ? undefined : null
}

function readStarts(
  { containerStatuses }: Fields,
  ours: ReadonlySet<string>,
): readonly ContainerStarts[] {
  const application = asObjects(containerStatuses).filter(({ name }) => !ours.has(String(name)))
  return application.map((status) => ({ name: asText(status.name) ?? '', ...startsIn(status) }))
}

function startsIn(status: Fields): Omit<ContainerStarts, 'name'> {
  const [runs, restarts] = [readRuns(status), countRestarts(status)]
  if (runs.length === 0 && restarts === 0)
    return { first: undefined, last: undefined, restarts, runs }
  const isWaiting = fieldsOrNone(status.state).waiting !== undefined
  return {
    first: runs.length > restarts ? runs[0]?.from : null,
    last: isWaiting ? undefined : runs.at(-1)?.from,
    restarts,
    runs,
  }
}

interface InitRun {
  readonly from: EventTime
  readonly to: EventTime
}

/**
 * Returns when an init container started first and ended. A status has the last two runs. If
 * Kubernetes runs all containers again (KEP-5532), those may be runs after the application had
 * started.
 */
function readInitRun(status: Fields, application: readonly ContainerStarts[]): InitRun {
  const limit = minimum(application.map(({ first, last }) => first ?? last ?? null))
  const [all, restarts] = [readRuns(status), countRestarts(status)]
  const runs = all.filter(({ from }) => from === null || limit === null || from <= limit)
  const hasFollowed = firstStart(application) !== undefined
  const missing = hasFollowed || restarts > 0 ? null : undefined
  const last = runs.at(-1)
  if (last === undefined) return { from: missing, to: missing }
  const hasFailed = last.end !== null && last.end.exitCode !== 0
  const to = hasFailed ? undefined : last.to
  return {
    from: all.length > restarts ? runs[0]?.from : null,
    to: to === undefined && hasFollowed ? null : to,
  }
}

function markInitContainer(
  { name, restartPolicy }: Fields,
  ours: ReadonlySet<string>,
  { from, to }: InitRun,
): readonly Mark[] {
  const container = asText(name) ?? ''
  const isOurs = ours.has(container)
  const start = {
    part: isOurs ? 'observers' : 'pulling',
    event: `its init container ${container} started`,
    at: from,
  } as const
  // The next container starts while a sidecar runs.
  if (restartPolicy === 'Always') return [start]
  const part = isOurs ? 'observers' : 'init'
  return [start, { part, event: `its init container ${container} ended`, at: to }]
}

/** A deletion time is that of the request and the grace period (ObjectMeta.deletionTimestamp). */
function readDeletion({ deletionTimestamp, deletionGracePeriodSeconds }: Fields): number | null {
  const latest = readTime(deletionTimestamp)
  const grace = typeof deletionGracePeriodSeconds === 'number' ? deletionGracePeriodSeconds : 0
  return latest === null ? null : latest - grace * 1000
}

function readEnd({ phase, initContainerStatuses, containerStatuses }: Fields): number | null {
  if (phase !== 'Succeeded' && phase !== 'Failed') return null
  const all = [initContainerStatuses, containerStatuses].flatMap(asObjects)
  return maximum(all.flatMap((status) => readRuns(status).at(-1)?.to ?? []))
}

/**
 * Returns the times of a pod that was seen before. A status loses the times of runs before the last
 * ones.
 */
export function joinHistories(before: PodHistory, now: PodHistory): PodHistory {
  const find = (name: string) => before.starts.find((start) => start.name === name)
  return {
    marks: now.marks.map((mark, index) => ({
      ...mark,
      at: before.marks[index]?.at ?? mark.at,
    })),
    starts: now.starts.map((start) => {
      const known = find(start.name)
      const runs = joinRuns(known?.runs ?? [], start.runs)
      return { ...start, first: known?.first ?? start.first, runs }
    }),
    deleted: before.deleted ?? now.deleted,
    ended: now.ended,
  }
}
