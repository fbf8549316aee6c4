import { asObjects, asText, type Fields, fieldsOrNone } from '../core/kubernetes/json.ts'
import { isExpired } from './api-error.ts'
import { type Apiserver, type Call, REQUEST_TIMEOUT_MS } from './apiserver.ts'
import { repeat } from './repeat.ts'

/** The number of objects per page, the same as in kubectl. */
const PAGE = '500'

/**
 * The number of lists in pages that may expire. The next list has no pages and cannot expire, as in
 * client-go (tools/pager, FullListIfExpired).
 */
const MAX_EXPIRED = 3

/**
 * The maximum time without data, in milliseconds. An apiserver that can be reached sends a page
 * sooner.
 */
const SILENCE_MS = 20_000

/**
 * Requests an object or a page of a list. The request fails if the apiserver is silent for too
 * long.
 */
export function getFields({ ask }: Apiserver, call: Omit<Call, 'signal'>): Promise<Fields> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  return ask({ ...call, signal, silenceMs: SILENCE_MS })
}

/**
 * Lists objects, page by page. If the list expires between two pages (410), it is begun again. A
 * page after the first one is requested again if the apiserver is overloaded or the connection
 * breaks.
 *
 * @param call the path of the list, and the query without pages
 * @param read reads the objects of a page. Only its results are kept, because whole objects need
 * much memory
 * @throws ApiError, or a network error
 */
export async function listObjects<Result>(
  apiserver: Apiserver,
  call: Pick<Call, 'path' | 'query' | 'metadataOnly'>,
  read: (objects: readonly Fields[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  for (let expired = 0; ; expired += 1) {
    const limit = expired < MAX_EXPIRED ? { limit: PAGE } : {}
    const get = (more: Readonly<Record<string, string>>) => {
      return getFields(apiserver, { ...call, query: { ...call.query, ...limit, ...more } })
    }
    const results = await listPages(get, read)
    if (results !== undefined) return results
  }
}

/** Returns the results of all pages, or undefined if the list expired. */
async function listPages<Result>(
  get: (query: Readonly<Record<string, string>>) => Promise<Fields>,
  read: (objects: readonly Fields[]) => Promise<readonly Result[]>,
): Promise<readonly Result[] | undefined> {
  let list = await get({})
  const results = [...(await read(asObjects(list.items)))]
  for (let next = nextOf(list); next !== undefined; next = nextOf(list)) {
    const token = next
    try {
      list = await repeat(() => get({ continue: token }))
    } catch (error) {
      if (isExpired(error)) return undefined
      throw error
    }
    results.push(...(await read(asObjects(list.items))))
  }
  return results
}

function nextOf({ metadata }: Fields): string | undefined {
  return asText(fieldsOrNone(metadata).continue) || undefined
}
