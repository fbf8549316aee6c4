import { type Before, beforeKey } from './before.ts'
import type { Edit } from './edit.ts'
import type { Manifest } from './read.ts'
import {
  collectionAt,
  colonEnd,
  findCollection,
  isFlow,
  itemAt,
  itemEnd,
  itemStart,
  lineEnd,
  type Step,
  type YamlCollection,
  type YamlItem,
} from './yaml/nodes.ts'

/** A removal from a document: keys of a map, or indices in a list. */
export interface Removal {
  readonly path: readonly Step[]
  readonly steps: readonly Step[]
}

/**
 * Returns the edits that apply removals to a document. A map or list that becomes empty is replaced
 * by the text in `before`. Without such text, the key of the map or list is removed too.
 *
 * @param base the path of an existing map, from the root
 * @param before the text to restore, by key
 */
export function remove(
  manifest: Manifest,
  base: readonly Step[],
  removals: readonly Removal[],
  before: Before,
): readonly Edit[] {
  const deepest = [...removals].sort((a, b) => b.path.length - a.path.length)[0]
  if (deepest === undefined) return []
  const others = removals.filter((removal) => removal !== deepest)
  const context = { manifest, base, before }
  const { edits, above } = removeOne(context, deepest)
  // The key of an emptied collection is removed together with the other removals from its parent.
  return [...edits, ...remove(manifest, base, merged(others, above), before)]
}

interface Document {
  readonly manifest: Manifest
  readonly base: readonly Step[]
  readonly before: Before
}

interface Removed {
  readonly edits: readonly Edit[]
  readonly above?: Removal
}

function removeOne({ manifest, base, before }: Document, { path, steps }: Removal): Removed {
  const collection = collectionAt(manifest, [...base, ...path])
  const name = path.at(-1)
  if (collection === undefined) return { edits: [] }
  const context = { manifest, collection }
  const indices = findIndices(context, steps)
  const isEmptied = indices.size === collection.items.length
  if (!isEmptied || name === undefined) return { edits: takeOut(context, indices) }
  const parent = collectionAt(manifest, [...base, ...path.slice(0, -1)])
  const item = parent && itemAt(manifest, parent, name)
  const text = before[beforeKey(manifest, base, path)]
  return item !== undefined && text !== undefined
    ? { edits: [restore(manifest, item, text)] }
    : { edits: [], above: { path: path.slice(0, -1), steps: [name] } }
}

function merged(removals: readonly Removal[], added: Removal | undefined): readonly Removal[] {
  if (added === undefined) return removals
  const { path, steps } = added
  const isSame = (removal: Removal) => removal.path.join('/') === path.join('/')
  const same = removals.find(isSame)
  const others = removals.filter((removal) => !isSame(removal))
  return [...others, { path, steps: [...(same?.steps ?? []), ...steps] }]
}

interface RemoveContext {
  readonly manifest: Manifest
  readonly collection: YamlCollection
}

function findIndices(
  { manifest, collection }: RemoveContext,
  steps: readonly Step[],
): ReadonlySet<number> {
  const items = steps.map((step) => itemAt(manifest, collection, step))
  return new Set(items.flatMap((item) => (item?.collection === collection ? [item.index] : [])))
}

function takeOut(context: RemoveContext, indices: ReadonlySet<number>): readonly Edit[] {
  return [...indices].map((index) => {
    const { collection } = context
    const isFirst = [...Array(index).keys()].every((before) => indices.has(before))
    const next = index + 1
    // The first items, and metadata that `inject` inserted before `spec`, are removed up to the
    // start of the next item.
    if (isFirst || (isMetadata(context, index) && next < collection.items.length)) {
      return cut(itemStart({ collection, index }), itemStart({ collection, index: next }))
    }
    return cut(endAt(context, index - 1), endAt(context, index))
  })
}

function isMetadata({ manifest, collection }: RemoveContext, index: number): boolean {
  return itemAt(manifest, collection, 'metadata')?.index === index
}

/**
 * Returns the offset at which an item ends: the end of its content in a flow collection, the end of
 * its line in a block collection.
 */
function endAt({ manifest, collection }: RemoveContext, index: number): number {
  const end = itemEnd(manifest, { collection, index })
  return isFlow(collection) ? end : lineEnd(manifest.text, end)
}

function cut(start: number, end: number): Edit {
  return { start, end, text: '', depth: 0 }
}

/** Restores the text after the colon of a key. */
export function restore(manifest: Manifest, item: YamlItem, text: string): Edit {
  const [start, end] = [colonEnd(item), itemEnd(manifest, item)]
  const value = findCollection(manifest, item.value)
  if (value === undefined || isFlow(value)) return { start, end, text, depth: 0 }
  // A comment on the line of the key stays there.
  const line = lineEnd(manifest.text, start)
  return {
    start,
    end: lineEnd(manifest.text, end),
    text: text + manifest.text.slice(start, line),
    depth: 0,
  }
}
