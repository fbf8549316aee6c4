import { asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { type Apiserver, REQUEST_TIMEOUT_MS } from './apiserver.ts'

/** The pods to select from a namespace: one by its name, or all that match a label selector. */
export type PodSelection =
  | { readonly by: 'name'; readonly name: string }
  | { readonly by: 'labels'; readonly selector: string }

/** The number of pods per page, the same as in kubectl. */
const PAGE = '500'

/**
 * The longest time without data, in milliseconds. Only an unreachable apiserver takes longer for a
 * page.
 */
const SILENCE_MS = 20_000

/**
 * Lists the selected pods of a namespace.
 *
 * @throws Refusal, also if no pod has that name, or a network error
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
