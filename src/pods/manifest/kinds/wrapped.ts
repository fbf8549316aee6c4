import { asFields, type Fields } from '../../../core/kubernetes/json.ts'
import type { Step } from '../yaml/nodes.ts'
import { pathsAt, valueAt } from './paths.ts'
import { findKind } from './table.ts'

/** Returns the paths of the whole objects in an object. */
export function findWrapped(
  group: string,
  kind: string,
  fields: Fields,
): readonly (readonly Step[])[] {
  const wraps = findKind(group, kind)?.wraps ?? []
  const paths = wraps.flatMap((pattern) => pathsAt(fields, pattern))
  return paths.filter((path) => asFields(valueAt(fields, path)) !== undefined)
}
