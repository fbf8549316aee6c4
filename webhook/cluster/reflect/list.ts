import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../../src/core/kubernetes/json.ts'
import type { StoredObject } from './item.ts'

/** So many objects are parsed at once: a second's worth of pods must not wait behind ten thousand. */
const PAGE = '500'

/** All objects of a resource, as they were at one moment. */
export interface Listed {
  readonly items: readonly StoredObject[]
  readonly resourceVersion: string
}

export interface ListOptions {
  readonly api: Apiserver
  readonly path: string
  /** Of the objects' labels; all of them without one. */
  readonly selector?: string | undefined
  /** The longest for one page, in milliseconds. */
  readonly answerMs: number
  readonly signal: AbortSignal
  itemOf(object: unknown): StoredObject
}

export type PageOptions = Omit<ListOptions, 'itemOf'> & { readonly limit?: string }

/**
 * Lists a resource, page by page. Without a resourceVersion the list is the newest that etcd has:
 * with "0" a restarted apiserver may answer from the past, and older ones answer with all at once.
 *
 * @throws Refusal (410 where a page came too late), or an error of the network
 */
export async function* listPages(options: PageOptions): AsyncGenerator<Fields> {
  const { api, path, selector, answerMs, signal, limit = PAGE } = options
  let token = ''
  do {
    const page = await api.ask({
      path,
      query: { limit, ...selecting(selector), ...(token && { continue: token }) },
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
    })
    yield page
    token = asText(fieldsOrNone(page.metadata).continue) ?? ''
  } while (token !== '')
}

/**
 * Lists all of a resource, and keeps of each object what is wanted.
 *
 * @throws what `pagesOf` throws
 */
export async function list({ itemOf, ...options }: ListOptions): Promise<Listed> {
  const items: StoredObject[] = []
  let version: string | undefined
  for await (const page of listPages(options)) {
    for (const object of listOrNone(page.items)) items.push(itemOf(object))
    version = asText(fieldsOrNone(page.metadata).resourceVersion)
  }
  if (!version) throw new Error('the apiserver sent a list without a resourceVersion')
  return { items, resourceVersion: version }
}

/** The part of a query that selects by label. */
export function selecting(selector: string | undefined): { readonly labelSelector?: string } {
  return selector === undefined ? {} : { labelSelector: selector }
}
