import { podsOf } from '../collect/observers.ts'
import type { Chosen } from '../collect/workload.ts'
import { type Fields, fieldsOrNone, textOf } from '../core/json.ts'
import { askJson } from './api.ts'
import type { Cluster } from './context.ts'

/** As many pods as kubectl asks for at once. */
const PAGE = '500'

/**
 * The pods that were chosen, as the apiserver answers.
 *
 * @throws ApiProblem where it refuses, does not answer, or has no pod of that name
 */
export async function listPods(cluster: Cluster, chosen: Chosen): Promise<readonly Fields[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(cluster.namespace)}/pods`
  if (chosen.by === 'name')
    return [fieldsOrNone(await askJson(cluster.config, `${path}/${chosen.name}`, {}))]
  const pods: Fields[] = []
  let next: string | undefined
  do {
    const from = next === undefined ? {} : { continue: next }
    const query = { labelSelector: chosen.selector, limit: PAGE, ...from }
    const list = await askJson(cluster.config, path, query)
    pods.push(...podsOf(list))
    next = textOf(fieldsOrNone(fieldsOrNone(list).metadata).continue) || undefined
  } while (next !== undefined)
  return pods
}
