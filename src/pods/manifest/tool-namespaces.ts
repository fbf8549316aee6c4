import { TOOLS_LABEL } from '../../core/keys.ts'
import { readNamespace } from '../../core/namespaces/namespace.ts'
import type { Annotated } from './annotate.ts'
import type { Manifest } from './read.ts'
import { describe } from './report.ts'
import { findResources } from './resources.ts'

/**
 * Returns a sentence for each namespace that may not allow tools although objects in it were
 * annotated with a metric that has a tool: a Namespace in the files without the label, and a
 * namespace that is not in the files.
 *
 * @param manifests all documents of the files
 * @param tools the names of the metrics with a tool
 */
export function listNamespacesWithoutTools(
  manifests: readonly Manifest[],
  annotated: readonly Annotated[],
  tools: readonly string[],
): readonly string[] {
  if (tools.length === 0) return []
  const resources = annotated
    .filter(({ places }) => places > 0)
    .flatMap(({ manifest }) => findResources(manifest))
  const names = new Set(
    resources.map(({ kind, name, namespace }) => (kind === 'Namespace' ? name : namespace)),
  )
  const needed = `pods get ${tools.join(' and ')} only with the label ${TOOLS_LABEL}: "true"`
  const found = manifests
    .flatMap(findResources)
    .filter(({ group, kind, name }) => group === '' && kind === 'Namespace' && names.has(name))
  const closed = found.filter(({ name, fields }) => !readNamespace(name, fields).allowsTools)
  const others = [...names].filter((name) => !found.some((namespace) => namespace.name === name))
  return [
    ...closed.map((resource) => describe(resource, needed)),
    ...others.map(
      (name) => `${name === '' ? 'the namespace of the pods' : `namespace ${name}`}: ${needed}`,
    ),
  ]
}
