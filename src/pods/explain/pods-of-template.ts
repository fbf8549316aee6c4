import { asFields, type Fields } from '../../core/kubernetes/json.ts'
import { valueAt } from '../manifest/kinds/paths.ts'
import type { Template } from '../manifest/templates.ts'

/** Kinds with one pod per node, and kinds whose number of pods does not follow from replicas. */
const UNCOUNTED: ReadonlySet<string> = new Set(['DaemonSet', 'LeaderWorkerSet', 'PodTemplate'])

/**
 * Counts the pods of a template that run at the same time. The number is the product of the
 * replicas and the parallelism of all levels that contain the template. A Job never runs more pods
 * at the same time than it has completions.
 *
 * @returns undefined if the kind does not determine the number
 */
export function countPods({ resource, path }: Template): number | undefined {
  if (UNCOUNTED.has(resource.kind)) return undefined
  const inside = path.slice(resource.path.length)
  // The kinds of Dask have replicas beside the metadata and the spec of a template.
  const levels = [...inside.keys(), inside.length].map((depth) =>
    asFields(valueAt(resource.fields, inside.slice(0, depth))),
  )
  return levels.map((level) => timesAt(level ?? {})).reduce((a, b) => a * b, 1)
}

function timesAt({ replicas, parallelism, completions }: Fields): number {
  const wanted = asNumber(parallelism) ?? 1
  const needed = asNumber(completions) ?? Number.POSITIVE_INFINITY
  return (asNumber(replicas) ?? 1) * Math.min(wanted, needed)
}

function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
