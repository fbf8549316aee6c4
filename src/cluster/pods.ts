import { asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { isExpired } from './api-error.ts'
import { type Apiserver, REQUEST_TIMEOUT_MS } from './apiserver.ts'
import { repeat } from './repeat.ts'

/** The pods to select: the pod with a name, or all pods that match a label selector. */
export type PodSelection =
  | { readonly by: 'name'; readonly name: string }
  | { readonly by: 'labels'; readonly selector: string }

/** The number of pods per page, the same as in kubectl. */
const PAGE = '500'

/**
 * The number of lists in pages that may expire. The next list has no pages and cannot expire, as in
 * client-go (tools/pager, FullListIfExpired).
 */
const MOST_EXPIRED = 3

/**
 * The maximum time without data, in milliseconds. An apiserver that can be reached sends a page
 * sooner.
 */
const SILENCE_MS = 20_000

/**
 * Lists the selected pods of a namespace, page by page. If the list expires between two pages
 * (410), it is begun again. A page after the first one is requested again if the apiserver is
 * overloaded or the connection breaks.
 *
 * @param read reads the pods of a page. Only its results are kept, because whole pods need much
 * memory
 * @throws ApiError (404 if no pod has the name), or a network error
 */
export async function listPods<Result>(
  { ask }: Apiserver,
  namespace: string,
  chosen: PodSelection,
  read: (pods: readonly Fields[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const root = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`
  const get = (path: string, query = {}) => {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    return ask({ path, query, signal, silenceMs: SILENCE_MS })
  }
  if (chosen.by === 'name') return read([await get(`${root}/${chosen.name}`)])
  for (let expired = 0; ; expired += 1) {
    const limit = expired < MOST_EXPIRED ? { limit: PAGE } : {}
    const query = { labelSelector: chosen.selector, ...limit }
    const results = await listPages((more) => get(root, { ...query, ...more }), read)
    if (results !== undefined) return results
  }
}

/** Returns the results of all pages, or undefined if the list expired. */
async function listPages<Result>(
  get: (query: { readonly continue?: string }) => Promise<Fields>,
  read: (pods: readonly Fields[]) => Promise<readonly Result[]>,
): Promise<readonly Result[] | undefined> {
  let list = await get({})
  const results = [...(await read(podsIn(list)))]
  for (let next = nextOf(list); next !== undefined; next = nextOf(list)) {
    const token = next
    try {
      list = await repeat(() => get({ continue: token }))
    } catch (error) {
      if (isExpired(error)) return undefined
      throw error
    }
    results.push(...(await read(podsIn(list))))
  }
  return results
}

function podsIn({ items }: Fields): readonly Fields[] {
  return listOrNone(items).map(fieldsOrNone)
}

function nextOf({ metadata }: Fields): string | undefined {
  return asText(fieldsOrNone(metadata).continue) || undefined
}
