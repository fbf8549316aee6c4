import { asFields, type Fields } from '../core/kubernetes/json.ts'
import { editedDocument } from './edit.ts'
import { extend } from './extend.ts'
import { findKind, isBuiltIn } from './kinds.ts'
import type { Step } from './nodes.ts'
import { type Manifest, readManifests } from './read.ts'
import { findResources, type ManifestResource } from './resources.ts'
import { findTemplates, pathsAt } from './templates.ts'
import { verify } from './verify.ts'

/** A document with annotations where they travel to its pods, and what was not annotated. */
export interface Annotated {
  readonly manifest: Manifest
  /** The document's own text, from the marks before it on. */
  readonly text: string
  /** How many places were annotated. */
  readonly places: number
  readonly passedOver: readonly PassedOver[]
}

/** An object whose pods no annotation in it reaches, and what to do instead. */
export interface PassedOver {
  readonly resource: ManifestResource
  readonly why: string
}

/**
 * Writes annotations into a document, there from where each kind's operator copies them to its pods.
 *
 * @param annotations by key
 * @param namespaces whether those of the document are to be annotated too
 * @throws ManifestError where the document cannot be edited without changing something else
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

/** One place after the other, since two may be below the same parent that is missing. */
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

/** Why an object has nothing to write into, and what to do instead; nothing for kinds that make no pods. */
export function whyNot({ group, kind, fields }: ManifestResource): string | undefined {
  const row = findKind(group, kind)
  if (row !== undefined)
    return row.instead ?? `it has no ${row.templates?.join(' or ')} with containers`
  const isPods = !isBuiltIn(group) && asFields(fields.spec) !== undefined
  return isPods ? UNKNOWN : undefined
}

const UNKNOWN =
  'nobody here knows this kind, and nothing in it has the shape of a pod template; annotate the namespace of its pods'
