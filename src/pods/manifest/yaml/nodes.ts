import {
  type CST,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import type { Manifest } from '../read.ts'
import { isMergeKey } from './meaning.ts'
import { keyText } from './scalar.ts'

/** A key of a map, or an index in a list. */
export type Step = string | number

export type YamlCollection = YAMLMap.Parsed | YAMLSeq.Parsed

/** An item of a collection; an item of a map is a key with its value. */
export interface YamlItem {
  readonly collection: YamlCollection
  readonly index: number
  /** The value of the item, which may be an alias; undefined if the value is missing. */
  readonly value: Node | undefined
}

/**
 * Returns a node that is a map or a list, or the map or list that an alias refers to. Returns
 * undefined for other nodes.
 */
export function findCollection(manifest: Manifest, node: unknown): YamlCollection | undefined {
  const target = isAlias(node) ? node.resolve(manifest.node) : node
  return isMap(target) || isSeq(target) ? (target as YamlCollection) : undefined
}

/**
 * Returns the item at an index of a list, or at a key of a map. Of duplicate keys, the last one
 * counts. If a map does not have the key, the maps that it merges with `<<` are searched.
 */
export function itemAt(
  manifest: Manifest,
  collection: YamlCollection,
  step: Step,
): YamlItem | undefined {
  const index = isSeq(collection)
    ? Number(step)
    : collection.items.findLastIndex(({ key }) => readKey(key) === String(step))
  const item = collection.items[index]
  if (item !== undefined) {
    return { collection, index, value: ((isPair(item) ? item.value : item) ?? undefined) as Node }
  }
  return isMap(collection) ? mergedItem(manifest, collection, step) : undefined
}

function mergedItem(manifest: Manifest, map: YAMLMap.Parsed, step: Step): YamlItem | undefined {
  const merged = map.items.findLast(({ key }) => isMergeKey(key))?.value
  const sources = isSeq(merged) ? merged.items : [merged]
  for (const source of sources) {
    const collection = findCollection(manifest, source)
    const item = collection && itemAt(manifest, collection, step)
    if (item !== undefined) return item
  }
  return undefined
}

function readKey(key: unknown): string | undefined {
  return isScalar(key) && !isMergeKey(key) ? keyText(key) : undefined
}

/** Returns the collection at a path from the root, or undefined if there is no collection. */
export function collectionAt(
  manifest: Manifest,
  path: readonly Step[],
): YamlCollection | undefined {
  let here = findCollection(manifest, manifest.node.contents)
  for (const step of path) {
    const item = here && itemAt(manifest, here, step)
    here = findCollection(manifest, item?.value)
  }
  return here
}

/** Reports whether a collection is written in braces or brackets. */
export function isFlow(collection: YamlCollection): boolean {
  return collection.srcToken?.type === 'flow-collection'
}

/** Returns the column of a block collection's keys or dashes. */
export function measureIndent({ srcToken }: YamlCollection): number {
  return srcToken !== undefined && 'indent' in srcToken ? srcToken.indent : 0
}

type ItemToken = CST.CollectionItem

/**
 * Returns the source token of an item. Tokens that contain only comments are not items. The empty
 * token after a trailing comma is not an item either.
 */
function findToken({ collection, index }: Pick<YamlItem, 'collection' | 'index'>): ItemToken {
  const { srcToken } = collection
  const all: readonly ItemToken[] =
    srcToken !== undefined && 'items' in srcToken ? srcToken.items : []
  const items =
    srcToken?.type === 'block-seq'
      ? all.filter(({ start }) => start.some(({ type }) => type === 'seq-item-ind'))
      : srcToken?.type === 'block-map'
        ? all.filter(({ key, sep }) => key != null || sep !== undefined)
        : all
  const token = items[index]
  if (token === undefined) throw new Error(`item ${index} has no source token`)
  return token
}

const PROPERTIES = ['seq-item-ind', 'explicit-key-ind', 'map-value-ind', 'anchor', 'tag']

/**
 * Returns the offset at which an item starts: its dash, its key, or an anchor or tag before the
 * key.
 */
export function itemStart(item: Pick<YamlItem, 'collection' | 'index'>): number {
  const { start, key, sep, value } = findToken(item)
  const property = start.find(({ type }) => PROPERTIES.includes(type))
  return property?.offset ?? key?.offset ?? value?.offset ?? sep?.[0]?.offset ?? 0
}

/** Returns the offset after the colon of a key. */
export function colonEnd(item: Pick<YamlItem, 'collection' | 'index'>): number {
  const colon = findToken(item).sep?.find(({ type }) => type === 'map-value-ind')
  if (colon === undefined) throw new Error('a key has no colon')
  return colon.offset + 1
}

/**
 * Returns the offset at which an item's content ends, without the comments and blank lines that
 * follow.
 */
export function itemEnd(manifest: Manifest, item: Pick<YamlItem, 'collection' | 'index'>): number {
  const { start, key, sep = [], value } = findToken(item)
  if (value != null) return valueEnd(manifest, collectionItem(item))
  const last = [...start, ...sep].filter(({ type }) => PROPERTIES.includes(type)).at(-1)
  const after = last === undefined ? 0 : last.offset + last.source.length
  return Math.max(after, key == null ? 0 : key.offset + ('source' in key ? key.source.length : 0))
}

function collectionItem({ collection, index }: Pick<YamlItem, 'collection' | 'index'>): Node {
  const item = collection.items[index]
  return (isPair(item) ? item.value : item) as Node
}

function valueEnd(manifest: Manifest, node: Node): number {
  if ((isMap(node) || isSeq(node)) && !isFlow(node as YamlCollection)) {
    const collection = node as YamlCollection
    const last = collection.items.length - 1
    if (last >= 0) return itemEnd(manifest, { collection, index: last })
  }
  const end = node.range?.[1] ?? 0
  const isBlockScalar = isScalar(node) && node.srcToken?.type === 'block-scalar'
  return isBlockScalar ? withoutBreak(manifest.text, end) : end
}

/** Returns the offset before a line break; the last line of a file may have none. */
function withoutBreak(text: string, end: number): number {
  if (end > text.length) return text.length
  const [broken = ''] = /(\r?\n|\r)?$/.exec(text.slice(Math.max(0, end - 2), end)) ?? []
  return end - broken.length
}

/** Returns the offset of the end of a line, before its line break. The line contains `offset`. */
export function lineEnd(text: string, offset: number): number {
  const end = /[\r\n]|$/g
  end.lastIndex = offset
  return end.exec(text)?.index ?? text.length
}
