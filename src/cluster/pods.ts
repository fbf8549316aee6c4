import { asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { type Apiserver, REQUEST_TIMEOUT_MS } from './apiserver.ts'

/** Which pods of a namespace: one by its name, or all with the labels. */
export type PodSelection =
  | { readonly by: 'name'; readonly name: string }
  | { readonly by: 'labels'; readonly selector: string }

/** As many pods as kubectl asks for at once. */
const PAGE = '500'

/** No page takes an apiserver so long, unless it has gone. */
const SILENCE_MS = 20_000

/**
 * The pods of a namespace that were chosen, as the apiserver answers.
 *
 * @throws Refusal, also where there is no pod of that name, or an error of the network
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
