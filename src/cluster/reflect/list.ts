import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { type Apiserver, parse } from '../apiserver.ts'
import { createListSplitter } from './list-splitter.ts'

/**
 * The number of objects per page. For each page, the apiserver reads the keys of all objects that
 * it has not sent yet (pkg/storage/cacher, ListPrefix). With the 500 objects of kubectl and
 * client-go (tools/pager), a list of 60,000 pods takes longer.
 */
export const PAGE = '1000'

/** All objects of a resource at one resourceVersion. */
export interface Listed<Item> {
  readonly items: readonly Item[]
  readonly resourceVersion: string
}

export interface ListOptions<Item> {
  readonly api: Apiserver
  readonly path: string
  /** A label selector; all objects if undefined. */
  readonly selector?: string | undefined
  /** The timeout for one page, in milliseconds. */
  readonly answerMs: number
  readonly signal: AbortSignal
  itemOf(object: unknown): Item | undefined
}

export type PartOptions = Omit<ListOptions<unknown>, 'itemOf'>

/** A part of a list. */
export interface ListPart {
  readonly items: readonly Fields[]
  /** The metadata of the list, at the end of each page. */
  readonly metadata: Fields | undefined
}

/**
 * Lists a resource page by page, and yields the items as they arrive, so that a large page delays
 * no review. The request has no resourceVersion, so the list is the most recent state in etcd. With
 * resourceVersion "0", a restarted apiserver may return an old state, and older apiservers return
 * all objects at once.
 *
 * @throws ApiError (410 if the continue token of a page has expired), or a network error
 */
export async function* listParts(options: PartOptions): AsyncGenerator<ListPart> {
  const { api, path, selector, answerMs } = options
  let token = ''
  do {
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(answerMs)])
    const query = { limit: PAGE, ...selecting(selector), ...(token && { continue: token }) }
    const splitter = createListSplitter()
    for await (const text of api.read({ path, query, signal })) {
      yield { items: splitter.push(text).map(parse), metadata: undefined }
    }
    const metadata = fieldsOrNone(parse(splitter.rest()).metadata)
    yield { items: [], metadata }
    token = asText(metadata.continue) ?? ''
  } while (token !== '')
}

/**
 * Lists all objects of a resource, and keeps the fields of each object that `itemOf` selects.
 * Objects for which it returns undefined are dropped as they arrive.
 *
 * @throws the errors of `listParts`, or an error for a list without a resourceVersion
 */
export async function list<Item>({ itemOf, ...options }: ListOptions<Item>): Promise<Listed<Item>> {
  const items: Item[] = []
  let version: string | undefined
  for await (const part of listParts(options)) {
    items.push(...part.items.flatMap((object) => itemOf(object) ?? []))
    if (part.metadata !== undefined) version = asText(part.metadata.resourceVersion)
  }
  if (!version) throw new Error('the apiserver sent a list without a resourceVersion')
  return { items, resourceVersion: version }
}

/** Returns the part of a query that selects by label. */
export function selecting(selector: string | undefined): { readonly labelSelector?: string } {
  return selector === undefined ? {} : { labelSelector: selector }
}
