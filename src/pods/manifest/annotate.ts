import { STATUS_KEY } from '../../core/keys.ts'
import { asFields, type Fields } from '../../core/kubernetes/json.ts'
import { readAnnotations } from '../../core/request.ts'
import { formatList } from '../../lib/format-list.ts'
import { editedDocument } from './edit.ts'
import { type Extension, extend } from './extend.ts'
import { distinctPaths, formatPath, formatPattern, valueAt } from './kinds/paths.ts'
import {
  type AnnotationPlace,
  annotationsFor,
  describePlaces,
  findAnnotatedTemplates,
  findFieldsInSchema,
  findOperatorPlaces,
  findPlaces,
  readPlace,
} from './kinds/places.ts'
import { findKind, type Kind } from './kinds/table.ts'
import { findWrapped } from './kinds/wrapped.ts'
import { at, ManifestError } from './manifest-error.ts'
import { type Manifest, readManifests } from './read.ts'
import { type Removal, remove } from './remove.ts'
import { findResources, type HandledObject, type ManifestResource } from './resources.ts'
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
  /** All objects, except Namespaces if these are not annotated. */
  readonly objects: readonly HandledObject[]
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
 * @throws ManifestError if a field on the way to the annotations is not a map, or if the document
 * cannot be edited without changing something else
 */
export function annotate(manifest: Manifest, annotations: Fields, namespaces: boolean): Annotated {
  const resources = findResources(manifest).filter(({ kind }) => namespaces || kind !== 'Namespace')
  const extensions = resources.flatMap((resource) => {
    const found = annotationsFor(resource, annotations)
    for (const extension of found) checkPath(resource, extension)
    return found
  })
  const text = extensions.reduce(
    (before, extension) => extended(manifest.file, before, extension),
    manifest.text.slice(manifest.start, manifest.end),
  )
  if (extensions.length > 0) verify(manifest, text, [{ path: [], extensions }])
  const passedOver = resources.flatMap((resource) => {
    const why = annotationsFor(resource, annotations).length > 0 ? undefined : whyNot(resource)
    return why === undefined ? [] : [{ resource, why }]
  })
  const objects = resources.map(listFields)
  return { manifest, text, places: extensions.length, passedOver, objects }
}

/** Returns an object with its annotated fields: pod templates, and annotations elsewhere. */
function listFields(resource: ManifestResource): HandledObject {
  const places = [...findAnnotatedTemplates(resource), ...findOperatorPlaces(resource)]
  const fields = places.map(({ path }) => path.slice(resource.path.length))
  const inSchema = findFieldsInSchema(resource).map(({ path }) => path)
  const found = distinctPaths([...fields, ...inSchema])
  return { resource, found, changed: found }
}

/**
 * Removes the annotations that users write for Ridealong from the places from which operators copy
 * annotations to pods. A map that becomes empty is removed too. The status of a pod template with
 * observers is kept, because `inject --undo` needs it.
 *
 * @param namespaces whether annotations of Namespaces in the document are removed too
 * @returns the text of this document
 */
export function unannotate(manifest: Manifest, namespaces: boolean): string {
  const resources = findResources(manifest).filter(({ kind }) => namespaces || kind !== 'Namespace')
  const removals = resources.flatMap((resource) =>
    [...findPlaces(resource), ...findWrittenPlaces(resource)].map((place): Removal => {
      const keys = [...readAnnotations(readPlace(resource, place)).keys()]
      const own = keys.filter((key) => key !== STATUS_KEY)
      return { path: place.path, steps: own.map((key) => `${place.prefix}${key}`) }
    }),
  )
  const once = new Map(removals.map((removal) => [JSON.stringify(removal), removal]))
  const present = [...once.values()].filter(({ steps }) => steps.length > 0)
  return editedDocument(manifest, remove(manifest, [], present, {}))
}

/**
 * Returns the maps of an object of an unknown kind that have annotations of Ridealong, without its
 * own metadata and the objects in it. A schema that is not known any more may have shown their
 * places.
 */
function findWrittenPlaces(resource: ManifestResource): readonly AnnotationPlace[] {
  if (!resource.isUnknown) return []
  const { metadata: _, status: __, ...others } = resource.fields
  const inside = findWrapped(resource.group, resource.kind, resource.fields)
  const objects = new Set(inside.map((path) => JSON.stringify(path)))
  return findMapsOfAnnotations(others, [], objects).map((path) => {
    return { path: [...resource.path, ...path], prefix: '' }
  })
}

function findMapsOfAnnotations(
  value: unknown,
  path: readonly Step[],
  objects: ReadonlySet<string>,
): readonly (readonly Step[])[] {
  if (objects.has(JSON.stringify(path))) return []
  if (Array.isArray(value))
    return value.flatMap((item, index) => findMapsOfAnnotations(item, [...path, index], objects))
  const fields = asFields(value) ?? {}
  const inner = Object.entries(fields).flatMap(([key, held]) => {
    return findMapsOfAnnotations(held, [...path, key], objects)
  })
  return readAnnotations(fields).size > 0 ? [path, ...inner] : inner
}

/**
 * Checks that each existing value on the path of an extension is a map or a list, as the path
 * requires. `null` counts as missing.
 */
function checkPath({ manifest, place, path: root }: ManifestResource, extension: Extension): void {
  const { path } = extension
  const wrong = [...path.keys(), path.length].find((depth) => {
    const value = valueAt(manifest.value, path.slice(0, depth)) ?? undefined
    const isList = Array.isArray(value)
    const isMap = asFields(value) !== undefined
    return value !== undefined && !(needsList(extension, depth) ? isList : isMap)
  })
  if (wrong === undefined) return
  const field = formatPath(path.slice(root.length, wrong))
  const wanted = needsList(extension, wrong) ? 'list' : 'map'
  throw new ManifestError(at(place, `${field} must be a ${wanted}`))
}

/** Reports whether the value after the first steps of an extension's path must be a list. */
function needsList(extension: Extension, depth: number): boolean {
  const next = extension.path[depth]
  return next === undefined ? !('entries' in extension) : typeof next === 'number'
}

/**
 * Applies one extension. The text is parsed again for each extension, because two extensions may
 * have the same missing parent.
 */
function extended(file: string, text: string, extension: Extension): string {
  return readManifests(file, text)
    .map((manifest) => editedDocument(manifest, extend(manifest, [], extension)))
    .join('')
}

/**
 * Returns the reason why an object of a known kind has no place for annotations, with advice;
 * undefined for other objects.
 */
export function whyNot(resource: ManifestResource): string | undefined {
  const row = findKind(resource.group, resource.kind)
  return row && whyNoPlace(resource, row)
}

function whyNoPlace({ group, kind, fields }: ManifestResource, row: Kind): string | undefined {
  if (row.instead !== undefined) return row.instead
  if (row.wraps !== undefined) {
    const isEmpty = findWrapped(group, kind, fields).length === 0
    return isEmpty
      ? `${formatList(row.wraps.map(formatPattern), 'and')} contains no object`
      : undefined
  }
  if (row.templates === undefined) return describeMissing(row)
  const lists = row.templates.map((path) => (path === '' ? LIST : `${formatPattern(path)}.${LIST}`))
  const wanted = `${formatList(lists, 'or')} must be a list of containers with names`
  return `its containers are missing or have no names: ${wanted}`
}

/** Describes the fields that must exist before annotations can be written into them. */
function describeMissing(row: Kind): string {
  const parents = (row.annotations ?? []).map((path) => path.split(/\?|\.\*/)[0] ?? '')
  const are = parents.length > 1 ? 'are all' : 'is'
  const why = `${formatList(parents, 'and')} ${are} missing or empty`
  return `${describePlaces(row)} cannot be written: ${why}`
}

const LIST = 'spec.containers'
