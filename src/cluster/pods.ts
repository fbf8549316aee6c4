import { asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { type Apiserver, REQUEST_TIMEOUT_MS } from './apiserver.ts'

/** The pods to select: the pod with a name, or all pods that match a label selector. */
export type PodSelection =
  | { readonly by: 'name'; readonly name: string }
  | { readonly by: 'labels'; readonly selector: string }

/** The number of pods per page, the same as in kubectl. */
const PAGE = '500'

/**
 * The maximum time without data, in milliseconds. An apiserver that can be reached sends a page
 * sooner.
 */
const SILENCE_MS = 20_000

/**
 * Lists the selected pods of a namespace.
 *
 * @throws Refusal (404 if no pod has the name), or a network error
 */
export async function listPods(
  { ask }: Apiserver,
  namespace: string,
  chosen: PodSelection,
): Promise<readonly Fields[]> {
  const root = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`
  const get = (path: string, query = {}) => {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    return ask({ path, query, signal, silenceMs: SILENCE_MS })
  }
  if (chosen.by === 'name') return [await get(`${root}/${chosen.name}`)]
  const pods: Fields[] = []
  let next: string | undefined
  do {
    const from = next === undefined ? {} : { continue: next }
    const list = await get(root, { labelSelector: chosen.selector, limit: PAGE, ...from })
    pods.push(...listOrNone(list.items).map(fieldsOrNone))
    next = asText(fieldsOrNone(list.metadata).continue) || undefined
  } while (next !== undefined)
  return pods
}
