import { isSeq } from 'yaml'
import type { Manifest } from '../read.ts'
import {
  findCollection,
  isFlow,
  itemAt,
  itemStart,
  measureIndent,
  type YamlCollection,
  type YamlItem,
} from './nodes.ts'
import type { Style } from './render.ts'

/**
 * Detects the style in which a document is written around a collection.
 *
 * @param sample a map that may have a list `containers`, which shows whether dashes are indented
 */
export function detectStyle(
  manifest: Manifest,
  collection: YamlCollection,
  sample: YamlCollection | undefined,
): Style {
  const { text, node, eol, isJson } = manifest
  const root = findCollection(manifest, node.contents)
  return {
    form: isJson ? 'json' : isFlow(collection) ? 'flow' : 'block',
    eol,
    unit: (root && indentBefore(text, { collection: root, index: 0 })) || '  ',
    indentsLists: sample !== undefined && indentsLists(manifest, sample),
  }
}

function indentsLists(manifest: Manifest, map: YamlCollection): boolean {
  const list = findCollection(manifest, itemAt(manifest, map, 'containers')?.value)
  return isSeq(list) && !isFlow(list) && measureIndent(list) > measureIndent(map)
}

/**
 * Returns the indentation of an item that starts a line, or undefined if other text precedes the
 * item on the line.
 */
export function indentBefore(
  text: string,
  item: Pick<YamlItem, 'collection' | 'index'>,
): string | undefined {
  if (item.collection.items.length === 0) return undefined
  const start = itemStart(item)
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
  return /^[ \t]*$/.test(before) ? before : undefined
}
