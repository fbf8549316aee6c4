import { asFields, type Fields } from '../../../core/kubernetes/json.ts'
import type { Step } from '../yaml/nodes.ts'
import { pathsAt, valueAt } from './paths.ts'
import { findPodShapes } from './pod-shapes.ts'
import { findKind, isUnknownKind } from './table.ts'

/** Returns the paths of the whole objects in an object; of unknown kinds, by their shape. */
export function findWrapped(
  group: string,
  kind: string,
  fields: Fields,
): readonly (readonly Step[])[] {
  if (isUnknownKind(group, kind)) return findPodShapes(fields).objects
  const wraps = findKind(group, kind)?.wraps ?? []
  const paths = wraps.flatMap((pattern) => pathsAt(fields, pattern))
  return paths.filter((path) => asFields(valueAt(fields, path)) !== undefined)
}
