import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../../src/core/kubernetes/json.ts'
import type { StoredObject } from './item.ts'

/**
 * The number of objects per page. Parsing a page blocks reviews, so a page must be short even if
 * there are ten thousand objects.
 */
const PAGE = '500'

/** All objects of a resource at one resourceVersion. */
export interface Listed {
  readonly items: readonly StoredObject[]
  readonly resourceVersion: string
}

export interface ListOptions {
  readonly api: Apiserver
  readonly path: string
  /** A label selector; all objects if undefined. */
  readonly selector?: string | undefined
  /** The timeout for one page, in milliseconds. */
  readonly answerMs: number
  readonly signal: AbortSignal
  itemOf(object: unknown): StoredObject
}

export type PageOptions = Omit<ListOptions, 'itemOf'> & { readonly limit?: string }

/**
 * Lists a resource page by page. The request has no resourceVersion, so the list is the most recent
 * state in etcd. With resourceVersion "0", a restarted apiserver may return an old state, and older
 * apiservers return all objects at once.
 *
 * @throws Refusal (410 if the continue token of a page has expired), or a network error
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
 * Lists all objects of a resource, and keeps the fields of each object that `itemOf` selects.
 *
 * @throws the errors of `listPages`, or an error for a list without a resourceVersion
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

/** Returns the part of a query that selects by label. */
export function selecting(selector: string | undefined): { readonly labelSelector?: string } {
  return selector === undefined ? {} : { labelSelector: selector }
}
