import { asText } from '../../core/kubernetes/json.ts'
import { minimum } from '../../lib/statistics.ts'
import { isStopped } from '../findings/failure-rule.ts'
import { describeEnd } from '../findings/signals.ts'
import type { RowOrigin } from '../log/columns.ts'
import type { EndedContainer, LogEntry } from '../log/entry.ts'
import { podText } from '../rules/sentence.ts'

/** How the application in a pod ended, as far as the status of the pod says it. */
export interface PodEnd {
  /**
   * - `stopped`: SIGTERM or SIGKILL ended it in a pod that was being deleted.
   * - `running`: it had not ended when the status was read.
   * - `unknown`: the status was not collected.
   */
  readonly state: 'succeeded' | 'failed' | 'stopped' | 'running' | 'unknown'
  /** The state in a sentence. */
  readonly sentence: string
  /** Whether the kubelet started a container of the pod again. */
  readonly isRestarted: boolean
  /** The names of the logs of the pod. */
  readonly logs: readonly string[]
  /** The same for pods of which one can replace the other: those of one controller and index. */
  readonly index: string
  /** The role, such as `launcher`; empty if the pods of the run have no roles. */
  readonly role: string
  /** When the first observer began, in milliseconds since 1970; NaN if that is not known. */
  readonly began: number
  /** When the application ended, in milliseconds since 1970; NaN if that is not known. */
  readonly ended: number
}

/** A log: its name, where it comes from, and the entry at its end, if that was read. */
export interface LogOfPod {
  readonly name: string
  readonly place: RowOrigin
  readonly entry: LogEntry | undefined
}

/** Groups logs by pod. A log of an unknown pod counts as a pod. */
export function groupLogs<Log extends LogOfPod>(logs: Iterable<Log>): readonly (readonly Log[])[] {
  const key = ({ name, place }: Log) => JSON.stringify([place.namespace, place.pod ?? name])
  return [...Map.groupBy(logs, key).values()]
}

/**
 * Returns how the application in a pod ended.
 *
 * @param logs the logs of the pod, at least one
 * @param pod the name under which reports show it
 */
export function readPodEnd(logs: readonly LogOfPod[], pod: string): PodEnd {
  const [{ place }] = logs as [LogOfPod]
  const target = textsIn(logs, 'container')[0]
  const statuses = logs.map(({ entry }) => entry?.ended ?? null).filter((one) => one !== null)
  const container = targetEnd(latestStatus(statuses), target)
  const name = target === undefined ? 'The application' : `Container ${target}`
  return {
    ...describe(container, `${name} of ${podText(pod)}`),
    isRestarted: statuses.flat().some(({ restarted }) => restarted),
    logs: logs.map((log) => log.name),
    index: JSON.stringify([place.namespace, textsIn(logs, 'owner')[0], place.pod_index]),
    role: place.pod_index?.replace(/[-\d]+$/, '') ?? '',
    began: minimum(textsIn(logs, 'started').map((text) => Date.parse(text))) ?? Number.NaN,
    ended: Date.parse(container?.finishedAt ?? ''),
  }
}

/** Returns the values of a field of the metadata of logs. */
function textsIn(logs: readonly LogOfPod[], name: string): readonly string[] {
  return logs.flatMap(({ entry }) => asText(entry?.metadata[name]) ?? [])
}

/** Returns the status in which most containers have ended: each log has that of its own end. */
function latestStatus(statuses: readonly (readonly EndedContainer[])[]) {
  const count = (status: readonly EndedContainer[]) => status.filter(isLastEnd).length
  return statuses.reduce<readonly EndedContainer[] | undefined>(
    (latest, status) => (latest === undefined || count(status) > count(latest) ? status : latest),
    undefined,
  )
}

/** Reports whether the kubelet has not started a container again after this end. */
function isLastEnd({ restarted }: EndedContainer): boolean {
  return !restarted
}

/**
 * Returns the last end of the container that was observed, or, if its name is not known, of the
 * first container that failed; null if it has not ended, and undefined if that is not known.
 */
function targetEnd(
  status: readonly EndedContainer[] | undefined,
  target: string | undefined,
): EndedContainer | null | undefined {
  if (status === undefined) return undefined
  const ends = status.filter(isLastEnd)
  if (target !== undefined) return ends.find(({ container }) => container === target) ?? null
  return ends.find(({ exitCode }) => exitCode !== 0) ?? ends[0] ?? null
}

function describe(
  end: EndedContainer | null | undefined,
  name: string,
): Pick<PodEnd, 'state' | 'sentence'> {
  if (end === undefined) return { state: 'unknown', sentence: `How ${name} ended is not known.` }
  if (end === null)
    return { state: 'running', sentence: `${name} had not ended when its log was collected.` }
  const sentence = `${name} ended with ${describeEnd(end)}`
  if (end.exitCode === 0) return { state: 'succeeded', sentence: `${sentence}.` }
  if (end.deleted && isStopped(end))
    return { state: 'stopped', sentence: `${sentence}, because its pod was deleted.` }
  return { state: 'failed', sentence: `${sentence}.` }
}
