import { asText } from '../../core/kubernetes/json.ts'
import { groupLogs, type PodEnd, readPodEnd } from '../ends/pod-ends.ts'
import type { InputLog } from './join-logs.ts'

/** One start of a pod. A pod can have the name of an earlier one, such as that of a StatefulSet. */
export interface PodStart {
  readonly logs: readonly InputLog[]
  readonly namespace: string | null
  /** The name of the pod; null if it is not known. */
  readonly pod: string | null
  /** The controller of the pod as KIND/NAME; undefined if it has none, or it is not known. */
  readonly owner: string | undefined
  /** The index of the pod, which can have its role; null if it has none. */
  readonly index: string | null
  /** The times of the first and of the last row, in milliseconds since 1970; NaN without a date. */
  readonly began: number
  readonly ended: number
  readonly state: PodEnd['state']
}

/** Returns the starts of all pods, the first one first. A log of an unknown pod is a start. */
export function readStarts(logs: readonly InputLog[]): readonly PodStart[] {
  const starts = groupLogs(logs).flatMap((own) => splitStarts(own).map(podStart))
  return starts.sort((a, b) => sortTime(a) - sortTime(b))
}

/** Returns the time by which logs and starts are sorted: those without a date come last. */
function sortTime({ began }: Pick<PodStart, 'began'>): number {
  return Number.isNaN(began) ? Number.POSITIVE_INFINITY : began
}

/** Divides the logs of a pod: a start has one log of a metric, or several that overlap in time. */
function splitStarts(logs: readonly InputLog[]): readonly (readonly InputLog[])[] {
  const starts: InputLog[][] = []
  for (const log of [...logs].sort((a, b) => sortTime(a) - sortTime(b))) {
    const current = starts.at(-1)
    const isAgain = current?.some(
      ({ place, ended }) => place.metric === log.place.metric && ended < log.began,
    )
    if (current === undefined || isAgain) starts.push([log])
    else current.push(log)
  }
  return starts
}

function podStart(logs: readonly InputLog[]): PodStart {
  const [first] = logs as [InputLog]
  const { namespace, pod, pod_index: index } = first.place
  return {
    logs,
    namespace,
    pod,
    owner: logs.map(({ entry }) => asText(entry?.metadata.owner)).find(Boolean),
    index,
    began: Math.min(...dated(logs.map((log) => log.began))),
    ended: Math.max(...dated(logs.map((log) => log.ended))),
    state: readPodEnd(logs, pod ?? first.name).state,
  }
}

/** Returns the times that are known; if there are none, NaN. */
function dated(times: readonly number[]): readonly number[] {
  const known = times.filter((time) => !Number.isNaN(time))
  return known.length === 0 ? [Number.NaN] : known
}
