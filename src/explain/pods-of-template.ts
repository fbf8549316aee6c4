import { asFields, type Fields } from '../core/kubernetes/json.ts'
import { type Template, valueAt } from '../manifest/templates.ts'

/** Kinds whose pods are as many as there are nodes, or are counted in another way than by replicas. */
const UNCOUNTED: ReadonlySet<string> = new Set(['DaemonSet', 'LeaderWorkerSet', 'PodTemplate'])

/**
 * How many pods a workload makes of a template at a time: the replicas and the parallelism of all that
 * the template lies in, multiplied. A Job runs no more at a time than it still has to complete.
 *
 * @returns undefined where the kind does not say
 */
export function countPods({ resource, path }: Template): number | undefined {
  if (UNCOUNTED.has(resource.kind)) return undefined
  const inside = path.slice(resource.path.length)
  const levels = inside.map((_, depth) =>
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
