import { isScalar } from 'yaml'
import type { Fields } from '../../core/kubernetes/json.ts'
import type { Edit } from './edit.ts'
import type { Manifest } from './read.ts'
import {
  collectionAt,
  colonEnd,
  isFlow,
  itemAt,
  itemEnd,
  itemStart,
  lineEnd,
  measureIndent,
  type Step,
  type YamlCollection,
  type YamlItem,
} from './yaml/nodes.ts'
import { blockLines, inlinePair, inlineText, jsonLines, type Style } from './yaml/render.ts'
import { readScalar } from './yaml/scalar.ts'
import { detectStyle, indentBefore } from './yaml/style.ts'

/** An addition to a document: entries of a map, or items of a list. */
export type Extension = { readonly path: readonly Step[] } & (EntryExtension | ItemExtension)

interface EntryExtension {
  readonly entries: Fields
}

interface ItemExtension {
  /** The items at the beginning of the list. */
  readonly first: readonly unknown[]
  /** The items at the end of the list. */
  readonly items: readonly unknown[]
}

/**
 * Returns the edits that add an extension to a document. Missing parents are created, and an empty
 * parent (`volumes: []`) is replaced.
 *
 * @param base the path of an existing map, from the root
 */
export function extend(
  manifest: Manifest,
  base: readonly Step[],
  extension: Extension,
): readonly Edit[] {
  const { path } = extension
  for (let depth = path.length; depth > 0; depth -= 1) {
    const collection = collectionAt(manifest, [...base, ...path.slice(0, depth)])
    if (collection === undefined || collection.items.length === 0) continue
    return into(manifest, base, collection, [...path.slice(depth)], extension)
  }
  const collection = collectionAt(manifest, base)
  if (collection === undefined) throw new Error(`no map or list at ${base.join('.')}`)
  return into(manifest, base, collection, path, extension)
}

/** Adds a value below a collection, and creates a map for each missing step of the path. */
function into(
  manifest: Manifest,
  base: readonly Step[],
  collection: YamlCollection,
  missing: readonly Step[],
  extension: EntryExtension | ItemExtension,
): readonly Edit[] {
  const sample = collectionAt(manifest, [...base, 'spec'])
  const context = { manifest, collection, style: detectStyle(manifest, collection, sample) }
  const [key, ...inner] = missing
  if (key !== undefined) {
    const value =
      'entries' in extension ? extension.entries : [...extension.first, ...extension.items]
    return [
      put(
        context,
        String(key),
        inner.reduceRight<unknown>((held, step) => ({ [step]: held }), value),
      ),
    ]
  }
  if (!('entries' in extension)) {
    const start = { collection, index: 0 }
    return [
      ...extension.first.map((item) => insertBefore(context, start, undefined, item)),
      ...extension.items.map((item) => append(context, undefined, item)),
    ]
  }
  return Object.entries(extension.entries)
    .filter(([name, held]) => !isThere(context, name, held))
    .map(([name, held]) => put(context, name, held))
}

/**
 * Reports whether the key already has this value. Such a value is not rewritten, so its quotes are
 * kept.
 */
function isThere({ manifest, collection }: ExtendContext, key: string, value: unknown): boolean {
  const item = itemAt(manifest, collection, key)
  return isScalar(item?.value) && readScalar(item.value) === value
}

interface ExtendContext {
  readonly manifest: Manifest
  readonly collection: YamlCollection
  readonly style: Style
}

/**
 * Sets a key. The value of an existing key is replaced. A new key is appended, except that metadata
 * is inserted before `spec`.
 */
function put(context: ExtendContext, key: string, value: unknown): Edit {
  const { manifest, collection } = context
  const item = itemAt(manifest, collection, key)
  if (item !== undefined) return replace(context, item, value)
  const spec = key === 'metadata' ? itemAt(manifest, collection, 'spec') : undefined
  return spec === undefined ? append(context, key, value) : insertBefore(context, spec, key, value)
}

/** Returns the text to insert after a colon if no blank follows: nothing in JSON, else a space. */
function spacing({ form }: Style): string {
  return form === 'json' ? '' : ' '
}

/** Replaces the text between the colon and the end of the value. */
function replace({ manifest, style }: ExtendContext, item: YamlItem, value: unknown): Edit {
  const [start, end] = [colonEnd(item), itemEnd(manifest, item)]
  const depth = start
  if (style.form !== 'block' || typeof value !== 'object') {
    const [blanks] = /^[ \t]*/.exec(manifest.text.slice(start, end)) ?? ['']
    // A value that follows its colon without a blank, such as `"a":[]`, is replaced likewise.
    const isAttached = start < end && /^\S/.test(manifest.text.slice(start))
    const space = isAttached ? '' : blanks || spacing(style)
    return { start, end, text: `${space}${inlineText(value, style)}`, depth }
  }
  // A comment after the replaced value stays on its line.
  const rest = manifest.text.slice(end, lineEnd(manifest.text, end))
  const lines = nested(value, style, measureIndent(item.collection))
  return { start, end: end + rest.length, text: [rest, ...lines].join(style.eol), depth }
}

/** Returns the lines of a value, indented below its key. */
function nested(value: unknown, style: Style, indent: number): readonly string[] {
  const deeper = Array.isArray(value) && !style.indentsLists ? indent : indent + 2
  return blockLines(value, style).map((line) => `${' '.repeat(deeper)}${line}`)
}

function append(context: ExtendContext, key: string | undefined, value: unknown): Edit {
  const { manifest, collection, style } = context
  const { text } = manifest
  const last = { collection, index: collection.items.length - 1 }
  const end = itemEnd(manifest, last)
  if (!isFlow(collection)) {
    const start = lineEnd(text, end)
    const lines = itemLines(key, value, style).map(
      (line) => ' '.repeat(measureIndent(collection)) + line,
    )
    return { start, end: start, text: ['', ...lines].join(style.eol), depth: itemStart(last) }
  }
  const indent = indentBefore(text, last)
  const gap = indent === undefined ? ' ' : `${style.eol}${indent}`
  return { start: end, end, text: `,${gap}${flowItem(key, value, style, indent)}`, depth: 0 }
}

function itemLines(key: string | undefined, value: unknown, style: Style): readonly string[] {
  return blockLines(key === undefined ? [value] : { [key]: value }, style)
}

function flowItem(
  key: string | undefined,
  value: unknown,
  style: Style,
  indent: string | undefined,
): string {
  if (style.form === 'json' && indent !== undefined) {
    const text = jsonLines(value, style, indent)
    return key === undefined ? text : `${JSON.stringify(key)}: ${text}`
  }
  return key === undefined ? inlineText(value, style) : inlinePair(key, value, style)
}

function insertBefore(
  { manifest, collection, style }: ExtendContext,
  item: Pick<YamlItem, 'collection' | 'index'>,
  key: string | undefined,
  value: unknown,
): Edit {
  const start = itemStart(item)
  const indent = indentBefore(manifest.text, item)
  if (isFlow(collection)) {
    const gap = indent === undefined ? ' ' : `${style.eol}${indent}`
    return { start, end: start, text: `${flowItem(key, value, style, indent)},${gap}`, depth: 0 }
  }
  const column = ' '.repeat(measureIndent(collection))
  const lines = itemLines(key, value, style).map((line, index) =>
    index === 0 ? line : column + line,
  )
  return { start, end: start, text: [...lines, column].join(style.eol), depth: 0 }
}
