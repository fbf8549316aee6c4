import { STATUS_KEY } from '../core/keys.ts'
import { asFields, asText, type Fields } from '../core/kubernetes/json.ts'
import { isShort } from '../core/status.ts'
import type { Extension } from './extend.ts'
import { at, ManifestError, type ManifestPosition } from './manifest-error.ts'
import {
  collectionAt,
  colonEnd,
  findCollection,
  itemAt,
  itemEnd,
  type Step,
  type YamlItem,
} from './nodes.ts'
import type { Manifest } from './read.ts'

/**
 * The text that an injection replaced, by key: everything after the colon, such as ` []` in
 * `volumes: []`. The status annotation stores this text, so that `ridealong inject --undo` restores
 * the file byte for byte. If a key is missing here, the injection added the key or did not replace
 * its value. An exception is `shareProcessNamespace: false`, which another field of the annotation
 * records.
 */
export type Before = Readonly<Record<string, string>>

/** Returns the text that an extension will replace, by key; empty if it will replace no text. */
export function describeBefore(
  manifest: Manifest,
  base: readonly Step[],
  extension: Extension,
): Before {
  const { path } = extension
  const shares = 'entries' in extension && SHARE in extension.entries
  const item = hollowItem(manifest, base, path) ?? (shares ? sharing(manifest, base) : undefined)
  const text = item && standing(manifest, item.item)
  // `shareProcessNamespace: false` is already recorded in another field of the status annotation.
  const isNews = text !== undefined && !(item?.key === SHARE && /^ *false$/.test(text))
  return isNews ? { [String(item?.key)]: text } : {}
}

const SHARE = 'shareProcessNamespace'

interface Keyed {
  readonly key: Step
  readonly item: YamlItem
}

/**
 * Follows a path, and returns the first item whose value is an empty map or list, or is neither a
 * map nor a list.
 */
function hollowItem(
  manifest: Manifest,
  base: readonly Step[],
  path: readonly Step[],
): Keyed | undefined {
  for (const [depth, key] of path.entries()) {
    const parent = collectionAt(manifest, [...base, ...path.slice(0, depth)])
    const item = parent && itemAt(manifest, parent, key)
    const isHollow = (findCollection(manifest, item?.value)?.items.length ?? 0) === 0
    if (item !== undefined && isHollow) return { key, item }
  }
  return undefined
}

function sharing(manifest: Manifest, base: readonly Step[]): Keyed | undefined {
  const spec = collectionAt(manifest, [...base, 'spec'])
  const item = spec && itemAt(manifest, spec, SHARE)
  return item && { key: SHARE, item }
}

function standing(manifest: Manifest, item: YamlItem): string {
  return manifest.text.slice(colonEnd(item), itemEnd(manifest, item))
}

/**
 * Adds the replaced text to the status annotation, including text replaced by an earlier injection.
 *
 * @throws ManifestError if the annotation becomes too long
 */
export function remember(
  status: string,
  earlier: Before,
  now: Before,
  place: ManifestPosition,
): string {
  const before = { ...now, ...earlier }
  if (Object.keys(before).length === 0) return status
  const remembered = JSON.stringify({ ...asFields(JSON.parse(status)), before })
  if (isShort(remembered)) return remembered
  const keys = Object.keys(before).join(', ')
  throw new ManifestError(
    at(place, `the text of ${keys} is too long to be stored in ${STATUS_KEY}; shorten it`),
  )
}

/** Parses the status annotation of a template; returns undefined if it is missing or invalid. */
export function readTemplateStatus(template: Fields): Fields | undefined {
  const metadata = asFields(template.metadata)
  const written = asText(asFields(metadata?.annotations)?.[STATUS_KEY])
  try {
    return written === undefined ? undefined : asFields(JSON.parse(written))
  } catch {
    return undefined
  }
}

/** Returns the replaced text that the status annotation of a template stores. */
export function rememberedIn(template: Fields): Before {
  const before = asFields(readTemplateStatus(template)?.before) ?? {}
  return Object.fromEntries(
    Object.entries(before).filter(
      (entry): entry is [string, string] => asText(entry[1]) !== undefined,
    ),
  )
}
