import { groupOf } from '../../core/kubernetes/group.ts'
import {
  asFields,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../core/kubernetes/json.ts'
import { valueAt } from './kinds/paths.ts'
import { isUnknownKind } from './kinds/table.ts'
import { findWrapped } from './kinds/wrapped.ts'
import type { ManifestPosition } from './manifest-error.ts'
import type { Manifest } from './read.ts'
import type { Step } from './yaml/nodes.ts'

/** A Kubernetes object in a document: the root, or an item if the root is a list. */
export interface ManifestResource {
  readonly manifest: Manifest
  readonly place: ManifestPosition
  readonly path: readonly Step[]
  readonly fields: Fields
  readonly group: string
  readonly kind: string
  readonly name: string
  /** The name for messages: `solve-...` if the apiserver will generate it from a prefix. */
  readonly title: string
  /** Whether it is not known how objects of this kind create pods, if they create any. */
  readonly isUnknown: boolean
  /** The schema of an unknown kind; undefined if it is not known. */
  readonly schema: Fields | undefined
  /** Whether another object contains this object, and its operator creates it. */
  readonly isWrapped: boolean
  /** The namespace. If empty, the object is created in the current namespace of the client. */
  readonly namespace: string
}

/** An object, and its fields from which pods are created. The paths start at the object. */
export interface HandledObject {
  readonly resource: ManifestResource
  /** The fields that a verb has found. */
  readonly found: readonly (readonly Step[])[]
  /** The fields that it has changed or explained. */
  readonly changed: readonly (readonly Step[])[]
}

/**
 * Returns the objects of a manifest, including the objects that other objects contain. Values
 * without a kind, such as the values file of a chart, are skipped.
 */
export function findResources(manifest: Manifest): readonly ManifestResource[] {
  return resourcesAt(manifest, [], manifest.value, undefined)
}

function resourcesAt(
  manifest: Manifest,
  path: readonly Step[],
  value: unknown,
  wrapper: ManifestResource | undefined,
): readonly ManifestResource[] {
  const fields = asFields(value)
  const kind = asText(fields?.kind)
  if (fields === undefined || kind === undefined) return []
  if (isList(fields, kind)) {
    return listOrNone(fields.items).flatMap((item, index) => {
      return resourcesAt(manifest, [...path, 'items', index], itemOf(fields, item), wrapper)
    })
  }
  const resource = resourceAt(manifest, path, fields, wrapper)
  const inside = findWrapped(resource.group, kind, fields)
  return [
    resource,
    ...inside.flatMap((steps) => {
      return resourcesAt(manifest, [...path, ...steps], valueAt(fields, steps), resource)
    }),
  ]
}

/** Reports whether an object is a list of objects. A List without the field `items` is empty. */
function isList({ items }: Fields, kind: string): boolean {
  const hasItems = Array.isArray(items) || items === null
  return kind.endsWith('List') && (hasItems || (kind === 'List' && items === undefined))
}

function resourceAt(
  manifest: Manifest,
  path: readonly Step[],
  fields: Fields,
  wrapper: ManifestResource | undefined,
): ManifestResource {
  const metadata = fieldsOrNone(fields.metadata)
  const [apiVersion, kind] = [asText(fields.apiVersion) ?? '', asText(fields.kind) ?? '']
  const group = groupOf(apiVersion)
  const isUnknown = isUnknownKind(group, kind)
  const [name, prefix] = [asText(metadata.name) ?? '', asText(metadata.generateName) ?? '']
  return {
    manifest,
    place: locate(manifest, path),
    path,
    fields,
    group,
    kind,
    name,
    title: name === '' && prefix !== '' ? `${prefix}...` : name,
    isUnknown,
    schema: isUnknown ? manifest.schemas.get(`${apiVersion}/${kind}`) : undefined,
    isWrapped: wrapper !== undefined,
    namespace: asText(metadata.namespace) ?? wrapper?.namespace ?? '',
  }
}

/**
 * Returns an item of a list. The apiserver leaves out the kind of the items of a list of one kind,
 * such as a JobList.
 */
function itemOf({ apiVersion, kind }: Fields, item: unknown): unknown {
  const own = String(kind).slice(0, -'List'.length)
  const fields = asFields(item)
  return fields === undefined || own === '' ? item : { apiVersion, kind: own, ...fields }
}

function locate(manifest: Manifest, path: readonly Step[]): ManifestPosition {
  const node = manifest.node.getIn(path, true)
  const start = (node as { range?: readonly number[] } | undefined)?.range?.[0]
  const line = start === undefined ? manifest.line : manifest.lines.linePos(start).line
  return { file: manifest.file, document: manifest.document, line }
}
