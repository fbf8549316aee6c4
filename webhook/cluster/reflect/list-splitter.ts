/** Splits the JSON text of a list, as in a response of the apiserver, while the text arrives. */
export interface ListSplitter {
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
  const isInString = trackStrings()
  let outside = ''
  let item = ''
  let depth = 0
  let isInItems = false
  /** The start of the text that is not stored yet. Between two items, nothing is stored. */
  let start = 0
  let complete: string[] = []
  const open = (text: string, at: number) => {
    if (isInItems && depth === ITEM_DEPTH) start = at
    depth += 1
    if (text[at] !== '[' || depth !== ITEM_DEPTH) return
    isInItems = ITEMS.test(outside + text.slice(start, at))
    outside += text.slice(start, at)
    start = at
  }
  const close = (text: string, at: number) => {
    depth -= 1
    if (!isInItems || depth > ITEM_DEPTH) return
    if (depth === ITEM_DEPTH) complete.push(item + text.slice(start, at + 1))
    else [outside, isInItems] = [`${outside}[`, false]
    ;[item, start] = ['', at]
  }
  const read = (text: string, at: number) => {
    if (isInString(text[at])) return
    if (OPENING.has(text[at])) open(text, at)
    else if (CLOSING.has(text[at])) close(text, at)
  }
  const push = (text: string) => {
    ;[complete, start] = [[], 0]
    for (let at = 0; at < text.length; at += 1) read(text, at)
    if (!isInItems) outside += text.slice(start)
    else if (depth > ITEM_DEPTH) item += text.slice(start)
    return complete
  }
  return { push, rest: () => outside }
}

const OPENING: ReadonlySet<string | undefined> = new Set(['{', '['])
const CLOSING: ReadonlySet<string | undefined> = new Set(['}', ']'])

/** Returns a function that reports whether the next character belongs to a string. */
function trackStrings(): (character: string | undefined) => boolean {
  let isInside = false
  let isEscaped = false
  return (character) => {
    const wasInside = isInside
    if (isEscaped) isEscaped = false
    else if (isInside && character === '\\') isEscaped = true
    else if (character === '"') isInside = !isInside
    return wasInside || isInside
  }
}
