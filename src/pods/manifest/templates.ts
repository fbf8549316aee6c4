import { asFields, asText, type Fields, listOrNone } from '../../core/kubernetes/json.ts'
import { pathsAt, valueAt } from './kinds/paths.ts'
import { findKind } from './kinds/table.ts'
import { whyNoPods } from './kinds/without-pods.ts'
import type { ManifestResource } from './resources.ts'
import type { Step } from './yaml/nodes.ts'

/** A pod template in an object. */
export interface Template {
  readonly resource: ManifestResource
  /** The path from the root of the document. */
  readonly path: readonly Step[]
  readonly fields: Fields
}

/**
 * Returns the pod templates of an object. Templates of listed kinds are at the paths in the table
 * of kinds. Templates of unknown kinds are recognized by their shape.
 */
export function findTemplates(resource: ManifestResource): readonly Template[] {
  const { group, kind, fields } = resource
  const row = findKind(group, kind)
  const listed = (row?.templates ?? []).flatMap((path) => pathsAt(fields, path))
  const isUnknown = row === undefined && whyNoPods(group, kind) === undefined
  const found = isUnknown ? byShape(fields.spec, ['spec']) : listed
  return found.flatMap((path) => {
    const template = asFields(valueAt(fields, path))
    if (!hasContainers(template)) return []
    return [{ resource, path: [...resource.path, ...path], fields: template }]
  })
}

/**
 * Finds pod templates by their shape: a core/v1 PodTemplateSpec has no fields other than metadata
 * and spec, and all containers in the spec have names.
 */
function byShape(value: unknown, path: readonly Step[]): readonly (readonly Step[])[] {
  const fields = asFields(value)
  const isTemplate = hasContainers(fields) && Object.keys(fields).every((key) => PARTS.has(key))
  if (isTemplate) return [path]
  const inner = Array.isArray(value) ? [...value.entries()] : Object.entries(fields ?? {})
  return inner.flatMap(([step, held]) => byShape(held, [...path, step]))
}

const PARTS: ReadonlySet<string> = new Set(['metadata', 'spec'])

function hasContainers(template: Fields | undefined): template is Fields {
  const containers = listOrNone(asFields(template?.spec)?.containers)
  return (
    containers.length > 0 &&
    containers.every((container) => asText(asFields(container)?.name) !== undefined)
  )
}
