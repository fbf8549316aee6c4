import { asFields, type Fields } from '../../core/kubernetes/json.ts'
import { pathsAt, valueAt } from './kinds/paths.ts'
import { findPodShapes, hasContainers } from './kinds/pod-shapes.ts'
import { findKind } from './kinds/table.ts'
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
  const { fields } = resource
  const row = findKind(resource.group, resource.kind)
  const listed = (row?.templates ?? []).flatMap((path) => pathsAt(fields, path))
  const found = resource.isUnknown ? findPodShapes(fields).templates : listed
  return found.flatMap((path) => {
    const template = asFields(valueAt(fields, path))
    if (!hasContainers(template)) return []
    return [{ resource, path: [...resource.path, ...path], fields: template }]
  })
}
