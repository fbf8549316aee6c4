import {
  asFields,
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
} from '../../core/kubernetes/json.ts'
import type { OwnerReference } from '../../core/kubernetes/owner-reference.ts'
import { readTime } from '../../lib/rfc3339.ts'
import { isOver, type RunPhase, readPhase, runKey } from '../facts/run.ts'
import type { AgingRun } from './retention.ts'

/** What the archive keeps in memory of an object Run. */
export interface ArchivedRun extends AgingRun {
  /** The `runKey` of the run. */
  readonly key: string
  readonly workload: OwnerReference
  /** Undefined if the object has no status yet. */
  readonly phase: RunPhase | undefined
  /** The number of its pods, also of those that are gone. */
  readonly podsSeen: number
  /** Whether its rows were stored, as far as there are any. */
  readonly hasRows: boolean
  /** Since when its conditions are true, by type. */
  readonly times: ReadonlyMap<string, string>
}

/** Reads an object Run; undefined if it has no name. */
export function readArchivedRun(object: Fields): ArchivedRun | undefined {
  const [metadata, spec] = [fieldsOrNone(object.metadata), fieldsOrNone(object.spec)]
  const [name, namespace] = [asText(metadata.name), asText(metadata.namespace)]
  if (name === undefined || namespace === undefined) return undefined
  const workload = fieldsOrNone(spec.workload)
  const uid = asText(workload.uid) ?? ''
  return {
    namespace,
    name,
    key: runKey({ namespace, uid, revision: asText(workload.revision) ?? null }),
    workload: {
      apiVersion: asText(workload.apiVersion) ?? '',
      kind: asText(workload.kind) ?? '',
      name: asText(workload.name) ?? '',
      uid,
    },
    ...readStatus(fieldsOrNone(object.status), readTime(metadata.creationTimestamp) ?? 0),
  }
}

function readStatus(
  status: Fields,
  created: number,
): Pick<ArchivedRun, 'phase' | 'ended' | 'podsSeen' | 'hasRows' | 'times'> {
  const phase = readPhase(status.phase)
  const hasEnded = phase !== undefined && isOver(phase)
  return {
    phase,
    // The clock of a node can be behind. That of the apiserver has created the object.
    ended: hasEnded ? Math.max(readTime(status.ended) ?? 0, created) : undefined,
    podsSeen: typeof status.podsSeen === 'number' ? status.podsSeen : 0,
    hasRows: asFields(status.rows) !== undefined,
    times: new Map(asObjects(status.conditions).flatMap(readTransition)),
  }
}

function readTransition({ type, lastTransitionTime }: Fields): (readonly [string, string])[] {
  const [text, time] = [asText(type), asText(lastTransitionTime)]
  return text === undefined || time === undefined ? [] : [[text, time]]
}
