import {
  asFields,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../core/kubernetes/json.ts'
import { valueAt } from './kinds/paths.ts'
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
  /** Whether another object contains this object, and its operator creates it. */
  readonly isWrapped: boolean
  /** The namespace. If empty, the object is created in the current namespace of the client. */
  readonly namespace: string
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
  if (kind.endsWith('List') && Array.isArray(fields.items)) {
    return listOrNone(fields.items).flatMap((item, index) => {
      return resourcesAt(manifest, [...path, 'items', index], item, wrapper)
    })
  }
  const metadata = fieldsOrNone(fields.metadata)
  const [group = '', version] = (asText(fields.apiVersion) ?? '').split('/')
  const resource = {
    manifest,
    place: locate(manifest, path),
    path,
    fields,
    group: version === undefined ? '' : group,
    kind,
    name: asText(metadata.name) ?? '',
    isWrapped: wrapper !== undefined,
    namespace: asText(metadata.namespace) ?? wrapper?.namespace ?? '',
  }
  const inside = findWrapped(resource.group, kind, fields)
  return [
    resource,
    ...inside.flatMap((steps) => {
      return resourcesAt(manifest, [...path, ...steps], valueAt(fields, steps), resource)
    }),
  ]
}

function locate(manifest: Manifest, path: readonly Step[]): ManifestPosition {
  const node = manifest.node.getIn(path, true)
  const start = (node as { range?: readonly number[] } | undefined)?.range?.[0]
  const line = start === undefined ? manifest.line : manifest.lines.linePos(start).line
  return { file: manifest.file, document: manifest.document, line }
}
