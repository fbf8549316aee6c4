import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { type Apiserver, parse } from '../apiserver.ts'

/**
 * The number of objects per page. For each page, the apiserver reads the keys of all objects that
 * it has not sent yet (pkg/storage/cacher, ListPrefix). With the 500 objects of kubectl and
 * client-go (tools/pager), a list of 60,000 pods takes longer.
 */
export const PAGE = '1000'

/** The objects per page after a page has not arrived in time: a pod can have 1.5 MB. */
export const SMALL_PAGE = '50'

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
  /** The number of objects per page. */
  readonly limit?: typeof PAGE | typeof SMALL_PAGE
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
  const { api, path, selector, answerMs, limit = PAGE } = options
  let token = ''
  do {
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(answerMs)])
    const query = { limit, ...selecting(selector), ...(token && { continue: token }) }
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

/** Splits the JSON text of a list, as in a response of the apiserver, while the text arrives. */
interface ListSplitter {
  /** Reads the next part of the text, and returns the JSON of the items that are now complete. */
  push(text: string): readonly string[]
  /** Returns the JSON of the list without its items. It is not valid if the text is incomplete. */
  rest(): string
}

/** The end of a text before the value of `items`. */
const ITEMS = /"items"\s*:\s*$/

/** The depth of objects and arrays at which the items are. */
const ITEM_DEPTH = 2

/**
 * Creates a splitter for one list, whose items are objects. A reader of the list then needs memory
 * only for one item at a time. Libraries parse such a stream in JavaScript, which takes several
 * times as long as this splitter with JSON.parse for each item.
 */
export function createListSplitter(): ListSplitter {
  let outside = ''
  let item = ''
  let depth = 0
  let isInItems = false
  /** The start of the text that is not stored yet. Between two items, nothing is stored. */
  let start = 0
  let complete: string[] = []
  /** The place in the next text at which the rest of a string begins; undefined outside strings. */
  let stringAt: number | undefined
  const open: Action = (text, next) => {
    const at = next - 1
    if (isInItems && depth === ITEM_DEPTH) start = at
    depth += 1
    if (text[at] !== '[' || depth !== ITEM_DEPTH) return next
    isInItems = ITEMS.test(outside + text.slice(start, at))
    outside += text.slice(start, at)
    start = at
    return next
  }
  const close: Action = (text, next) => {
    depth -= 1
    if (!isInItems || depth > ITEM_DEPTH) return next
    if (depth === ITEM_DEPTH) complete.push(item + text.slice(start, next))
    else [outside, isInItems] = [`${outside}[`, false]
    ;[item, start] = ['', next - 1]
    return next
  }
  const skipString: Action = (text, next) => {
    const end = findEndOfString(text, next)
    stringAt = end < text.length ? undefined : end - text.length
    return end + 1
  }
  const actionOf = actionsByCode({ '"': skipString, '{': open, '[': open, '}': close, ']': close })
  const push = (text: string) => {
    ;[complete, start] = [[], 0]
    read(text, stringAt === undefined ? 0 : skipString(text, stringAt), actionOf)
    if (!isInItems) outside += text.slice(start)
    else if (depth > ITEM_DEPTH) item += text.slice(start)
    return complete
  }
  return { push, rest: () => outside }
}

/**
 * Handles the character before `next`, and returns the index of the character to read after it.
 */
type Action = (text: string, next: number) => number

/**
 * Returns the actions by the codes of their characters. A comparison of one-character strings would
 * take three times as long.
 */
function actionsByCode(actions: Readonly<Record<string, Action>>): readonly (Action | undefined)[] {
  return Array.from({ length: 0x80 }, (_, code) => actions[String.fromCharCode(code)])
}

/** Calls the action of each character, from the index `first` to the end of the text. */
function read(text: string, first: number, actionOf: ReturnType<typeof actionsByCode>): void {
  let at = first
  while (at < text.length) {
    const action = actionOf[text.charCodeAt(at)]
    at = action === undefined ? at + 1 : action(text, at + 1)
  }
}

const [QUOTATION_MARK, BACKSLASH] = [0x22, 0x5c]

/**
 * Returns the index of the quotation mark that ends a string. If the text does not contain it,
 * returns the length of the text, or one more if the text ends within an escape sequence: the
 * sequence then includes the next character.
 */
function findEndOfString(text: string, from: number): number {
  let at = from
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTATION_MARK) return at
    if (code === BACKSLASH) at += 1
  }
  return at
}
