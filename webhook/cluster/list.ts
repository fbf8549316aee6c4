import { fieldsOrNone, listOrNone, textOf } from '../../src/core/json.ts'
import type { Apiserver } from './apiserver.ts'
import type { Item } from './item.ts'

/** So many objects are parsed at once: a second's worth of pods must not wait behind ten thousand. */
const PAGE = '500'

/** All objects of a resource, as they were at one moment. */
export interface Listed {
  readonly items: readonly Item[]
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
  itemOf(object: unknown): Item
}

/**
 * Lists a resource, page by page. Without a resourceVersion the list is the newest that etcd has:
 * with "0" a restarted apiserver may answer from the past.
 *
 * @throws Refusal (410 where a page came too late), or an error of the network
 */
export async function list(options: ListOptions): Promise<Listed> {
  const { api, path, selector, answerMs, signal, itemOf } = options
  const items: Item[] = []
  let token = ''
  let version: string | undefined
  do {
    const page = await api.ask({
      path,
      query: { limit: PAGE, ...selecting(selector), ...(token && { continue: token }) },
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
    })
    const { resourceVersion, continue: next } = fieldsOrNone(page.metadata)
    for (const object of listOrNone(page.items)) items.push(itemOf(object))
    version = textOf(resourceVersion)
    token = textOf(next) ?? ''
  } while (token !== '')
  if (!version) throw new Error('the apiserver sent a list without a resourceVersion')
  return { items, resourceVersion: version }
}

/** The part of a query that selects by label. */
export function selecting(selector: string | undefined): { readonly labelSelector?: string } {
  return selector === undefined ? {} : { labelSelector: selector }
}
