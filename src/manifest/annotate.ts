import { asFields, type Fields } from '../core/kubernetes/json.ts'
import { editedDocument } from './edit.ts'
import { extend } from './extend.ts'
import { findKind, isBuiltIn } from './kinds.ts'
import { type Manifest, readManifests } from './read.ts'
import { findResources, type ManifestResource } from './resources.ts'
import { findTemplates, pathsAt } from './templates.ts'
import { verify } from './verify.ts'
import type { Step } from './yaml/nodes.ts'

/**
 * A document with annotations at the places from which operators copy them to pods, and the objects
 * that may create pods but have no such place.
 */
export interface Annotated {
  readonly manifest: Manifest
  /** The text of this document, including the markers before it. */
  readonly text: string
  /** The number of annotated places. */
  readonly places: number
  readonly passedOver: readonly PassedOver[]
}

/** An object without a place for annotations that reach its pods, with the reason and advice. */
export interface PassedOver {
  readonly resource: ManifestResource
  readonly why: string
}

/**
 * Adds annotations to a document, at the places from which the operator of each kind copies them to
 * pods.
 *
 * @param annotations by key
 * @param namespaces whether Namespaces in the document are annotated too
 * @throws ManifestError if the document cannot be edited without changing something else
 */
export function annotate(manifest: Manifest, annotations: Fields, namespaces: boolean): Annotated {
  const resources = findResources(manifest).filter(({ kind }) => namespaces || kind !== 'Namespace')
  const paths = resources.flatMap(annotationPaths)
  const patches = paths.map((path) => ({ path: [], extensions: [{ path, entries: annotations }] }))
  const text = paths.reduce(
    (before, path) => withEntries(manifest.file, before, path, annotations),
    manifest.text.slice(manifest.start, manifest.end),
  )
  if (paths.length > 0) verify(manifest, text, patches)
  const passedOver = resources.flatMap((resource) => {
    const why = annotationPaths(resource).length > 0 ? undefined : whyNot(resource)
    return why === undefined ? [] : [{ resource, why }]
  })
  return { manifest, text, places: paths.length, passedOver }
}

/**
 * Adds the entries at one path. The text is parsed again for each path, because two paths may have
 * the same missing parent.
 */
function withEntries(file: string, text: string, path: readonly Step[], entries: Fields): string {
  return readManifests(file, text)
    .map((manifest) => editedDocument(manifest, extend(manifest, [], { path, entries })))
    .join('')
}

function annotationPaths(resource: ManifestResource): readonly (readonly Step[])[] {
  const { group, kind, fields } = resource
  const listed = findKind(group, kind)?.annotations ?? []
  return [
    ...listed.flatMap((path) => pathsAt(fields, path)).map((path) => [...resource.path, ...path]),
    ...findTemplates(resource).map(({ path }) => [...path, 'metadata', 'annotations']),
  ]
}

/**
 * Returns the reason why an object has no place for annotations, with advice; undefined for an
 * object that creates no pods.
 */
export function whyNot({ group, kind, fields }: ManifestResource): string | undefined {
  const row = findKind(group, kind)
  if (row !== undefined)
    return row.instead ?? `it has no ${row.templates?.join(' or ')} with containers`
  const isPods = !isBuiltIn(group) && asFields(fields.spec) !== undefined
  return isPods ? UNKNOWN : undefined
}

const UNKNOWN =
  'this kind is unknown, and the object contains no pod template; annotate the namespace instead'
