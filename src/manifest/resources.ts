import { type Fields, fieldsOf, fieldsOrNone, listOrNone, textOf } from '../core/json.ts'
import type { Step } from './nodes.ts'
import type { Manifest } from './read.ts'
import type { Place } from './trouble.ts'

/** An object of Kubernetes's in a manifest: its root, or an item where the root is a list. */
export interface Resource {
  readonly manifest: Manifest
  readonly place: Place
  readonly path: readonly Step[]
  readonly fields: Fields
  readonly group: string
  readonly kind: string
  readonly name: string
  /** Empty where the object does not say, and goes to the namespace of whoever applies it. */
  readonly namespace: string
}

/** The objects of a manifest. What has no kind, as the values of a chart, is none. */
export function resourcesOf(manifest: Manifest): readonly Resource[] {
  return resourcesAt(manifest, [], manifest.value)
}

function resourcesAt(
  manifest: Manifest,
  path: readonly Step[],
  value: unknown,
): readonly Resource[] {
  const fields = fieldsOf(value)
  const kind = textOf(fields?.kind)
  if (fields === undefined || kind === undefined) return []
  if (kind.endsWith('List') && Array.isArray(fields.items)) {
    return listOrNone(fields.items).flatMap((item, index) => {
      return resourcesAt(manifest, [...path, 'items', index], item)
    })
  }
  const metadata = fieldsOrNone(fields.metadata)
  const [group = '', version] = (textOf(fields.apiVersion) ?? '').split('/')
  return [
    {
      manifest,
      place: placeOf(manifest, path),
      path,
      fields,
      group: version === undefined ? '' : group,
      kind,
      name: textOf(metadata.name) ?? '',
      namespace: textOf(metadata.namespace) ?? '',
    },
  ]
}

function placeOf(manifest: Manifest, path: readonly Step[]): Place {
  const node = manifest.node.getIn(path, true)
  const start = (node as { range?: readonly number[] } | undefined)?.range?.[0]
  const line = start === undefined ? manifest.line : manifest.lines.linePos(start).line
  return { file: manifest.file, document: manifest.document, line }
}
