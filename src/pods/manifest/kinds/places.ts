import { KEYS } from '../../../core/keys.ts'
import { type Fields, fieldsOrNone } from '../../../core/kubernetes/json.ts'
import { formatList } from '../../../lib/format-list.ts'
import type { Extension } from '../extend.ts'
import type { ManifestResource } from '../resources.ts'
import { findTemplates, type Template } from '../templates.ts'
import type { Step } from '../yaml/nodes.ts'
import { canHaveAnnotation, findSchemaFields, type SchemaField } from './kind-schemas.ts'
import { formatPattern, pathsAt, valueAt } from './paths.ts'
import { findKind, type Kind } from './table.ts'

/** A place in a document from which an operator copies annotations to pods. */
export interface AnnotationPlace {
  /** The path of a map from the root of the document, which may not exist yet. */
  readonly path: readonly Step[]
  /** The text before the key of each annotation in the map. */
  readonly prefix: string
}

/** Returns the places for annotations of an object, including those of its pod templates. */
export function findPlaces(resource: ManifestResource): readonly AnnotationPlace[] {
  const templates = findAnnotatedTemplates(resource).map(({ path }) => {
    return { path: [...path, 'metadata', 'annotations'], prefix: '' }
  })
  const inSchema = findFieldsInSchema(resource).map(({ annotations }) => {
    return { path: [...resource.path, ...annotations], prefix: '' }
  })
  const places = [...findOperatorPlaces(resource), ...inSchema, ...templates]
  return [...new Map(places.map((place) => [JSON.stringify(place), place])).values()]
}

/** Returns the pod templates of an object that can have annotations. */
export function findAnnotatedTemplates(resource: ManifestResource): readonly Template[] {
  const { schema, fields, path: root } = resource
  const templates = findTemplates(resource)
  if (schema === undefined) return templates
  return templates.filter(({ path }) => {
    return canHaveAnnotation(schema, fields, [...path.slice(root.length), ...ANNOTATION])
  })
}

const ANNOTATION = ['metadata', 'annotations', KEYS.inject] as const

/**
 * Returns the fields for pods of an object of an unknown kind, from its schema, that can have
 * annotations.
 */
export function findFieldsInSchema({ schema, fields }: ManifestResource): readonly SchemaField[] {
  if (schema === undefined) return []
  return findSchemaFields(schema, fields).filter(({ annotations }) => {
    return canHaveAnnotation(schema, fields, [...annotations, KEYS.inject])
  })
}

/** Returns the places for annotations of an object, without those of its pod templates. */
export function findOperatorPlaces(resource: ManifestResource): readonly AnnotationPlace[] {
  const { fields } = resource
  const { annotations = [], prefixed = [] } = findKind(resource.group, resource.kind) ?? {}
  return [...annotations.map((path) => ({ path, prefix: '' })), ...prefixed].flatMap(
    ({ path: pattern, prefix }) => {
      const paths = pathsAt(fields, pattern)
      return paths.map((path) => ({ path: [...resource.path, ...path], prefix }))
    },
  )
}

/** Returns the annotations at a place. */
export function readPlace({ manifest }: ManifestResource, place: AnnotationPlace): Fields {
  const held = fieldsOrNone(valueAt(manifest.value, place.path))
  return Object.fromEntries(
    Object.entries(held)
      .filter(([key]) => key.startsWith(place.prefix))
      .map(([key, value]) => [key.slice(place.prefix.length), value]),
  )
}

/** Returns the additions to a document that annotate the pods of an object. */
export function annotationsFor(
  resource: ManifestResource,
  annotations: Fields,
): readonly Extension[] {
  const places = findPlaces(resource).map(({ path, prefix }) => {
    const entries = Object.entries(annotations).map(([key, value]) => [`${prefix}${key}`, value])
    return { path, entries: Object.fromEntries(entries) }
  })
  return [...places, ...patchFor(resource, annotations)]
}

/** Returns the item to add to the list of patches, if none is for the pods in question. */
function patchFor(
  { group, kind, fields, path }: ManifestResource,
  annotations: Fields,
): readonly Extension[] {
  const { patches } = findKind(group, kind) ?? {}
  if (patches === undefined) return []
  const names = pathsAt(fields, patches.names).map((name) => valueAt(fields, name))
  if (names.includes(patches.name)) return []
  const list = [...path, ...(pathsAt(fields, patches.path)[0] ?? [])]
  return [{ path: list, first: [], items: [patches.build(annotations)] }]
}

/** Describes the fields of a kind for annotations, for people; undefined if it has none. */
export function describePlaces({ annotations, prefixed }: Kind): string | undefined {
  const fields = [
    ...(annotations ?? []).map(formatPattern),
    ...(prefixed ?? []).map(({ path, prefix }) => `${path}."${prefix}KEY"`),
  ]
  return fields.length > 0 ? formatList(fields, 'and') : undefined
}
