import { isScalar } from 'yaml'
import { STATUS_KEY } from '../../core/keys.ts'
import {
  asFields,
  asText,
  type Fields,
  fieldsOrNone,
  parseFields,
} from '../../core/kubernetes/json.ts'
import { injectedStatus, lackedIn } from '../../core/status.ts'
import type { Extension } from './extend.ts'
import { at, ManifestError, type ManifestPosition } from './manifest-error.ts'
import type { Manifest } from './read.ts'
import { joinVariables } from './tool-targets.ts'
import {
  collectionAt,
  colonEnd,
  findCollection,
  itemAt,
  itemEnd,
  type Step,
  type YamlItem,
} from './yaml/nodes.ts'

/**
 * The text that an injection replaced, by key: everything after the colon, such as ` []` in
 * `volumes: []`. The key of a field of a container follows the name of the container and a slash,
 * such as `app/env`. The status annotation stores this text, so that `ridealong inject --undo`
 * restores the file byte for byte. If a key is missing here, the injection added the key or did not
 * replace its value. An exception is `shareProcessNamespace: false`, which another field of the
 * annotation records.
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
  const isNews = text !== undefined && !(item?.path.at(-1) === SHARE && /^ *false$/.test(text))
  return isNews ? { [beforeKey(manifest, base, item?.path ?? [])]: text } : {}
}

/** Returns the key in `Before` of the field at a path below `base`. */
export function beforeKey(
  manifest: Manifest,
  base: readonly Step[],
  path: readonly Step[],
): string {
  const key = String(path.at(-1))
  const isOfContainer = path.length === CONTAINER_PATH + 1
  const container = isOfContainer
    ? collectionAt(manifest, [...base, ...path.slice(0, CONTAINER_PATH)])
    : undefined
  const name = container && itemAt(manifest, container, 'name')?.value
  return isScalar(name) ? `${name.value}/${key}` : key
}

/** The number of steps from a template to a container, such as `spec`, `containers` and `0`. */
const CONTAINER_PATH = 3

const SHARE = 'shareProcessNamespace'

interface Located {
  readonly path: readonly Step[]
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
): Located | undefined {
  for (const [depth, key] of path.entries()) {
    const parent = collectionAt(manifest, [...base, ...path.slice(0, depth)])
    const item = parent && itemAt(manifest, parent, key)
    const isHollow = (findCollection(manifest, item?.value)?.items.length ?? 0) === 0
    if (item !== undefined && isHollow) return { path: path.slice(0, depth + 1), item }
  }
  return undefined
}

function sharing(manifest: Manifest, base: readonly Step[]): Located | undefined {
  const spec = collectionAt(manifest, [...base, 'spec'])
  const item = spec && itemAt(manifest, spec, SHARE)
  return item && { path: ['spec', SHARE], item }
}

function standing(manifest: Manifest, item: YamlItem): string {
  return manifest.text.slice(colonEnd(item), itemEnd(manifest, item))
}

/**
 * Adds the replaced text to the status annotation. Also adds the replaced text and the variables
 * that the status annotation of an earlier injection lists.
 *
 * @param status the status annotation of this injection
 * @param template the template before the injection
 * @param target the name of the target container
 * @throws ManifestError if the annotation becomes too long
 */
export function remember(
  status: string,
  template: Fields,
  target: string | undefined,
  now: Before,
  place: ManifestPosition,
): string {
  const before = { ...now, ...rememberedIn(template) }
  const written = fieldsOrNone(JSON.parse(status))
  const { left: _, ...fields } = written
  const variables = joinVariables(template, readTemplateStatus(template), fields, target)
  const keys = Object.keys(before)
  const remembered = injectedStatus(
    { ...fields, ...(variables.length > 0 && { variables }), ...(keys.length > 0 && { before }) },
    lackedIn(written),
  )
  if (remembered !== undefined) return remembered
  const what =
    keys.length > 0
      ? `the text of ${keys.join(', ')} is too long to be stored in ${STATUS_KEY}; shorten it`
      : `the list of added variables is too long for ${STATUS_KEY}; request fewer metrics`
  throw new ManifestError(at(place, what))
}

/** Parses the status annotation of a template; returns undefined if it is missing or invalid. */
export function readTemplateStatus(template: Fields): Fields | undefined {
  const metadata = asFields(template.metadata)
  return parseFields(asText(asFields(metadata?.annotations)?.[STATUS_KEY]))
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
