import {
  asFields,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../../core/kubernetes/json.ts'
import type { Step } from '../yaml/nodes.ts'

type Path = readonly Step[]

/** The parts of an object of an unknown kind from which pods may be created, by their shape. */
export interface PodShapes {
  /** The paths of pod templates: maps of metadata and spec, whose containers have names. */
  readonly templates: readonly Path[]
  /** The paths of containers outside these templates. */
  readonly containers: readonly Path[]
  /** The paths of whole objects, which have shapes of their own. */
  readonly objects: readonly Path[]
}

/** Finds the parts of an object from which pods may be created, at any depth. */
export function findPodShapes(fields: Fields): PodShapes {
  const found: Found = { templates: [], containers: [], objects: [] }
  const { apiVersion: _, kind: __, metadata: ___, status: ____, ...others } = fields
  searchEntries(others, [], found)
  return found
}

type Found = Record<keyof PodShapes, Path[]>

function search(value: unknown, path: Path, found: Found): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) search(item, [...path, index], found)
  } else searchMap(fieldsOrNone(value), path, found)
}

function searchMap(fields: Fields, path: Path, found: Found): void {
  if (isObject(fields)) found.objects.push(path)
  else if (isTemplate(fields)) {
    found.templates.push(path)
    searchTemplate(fields, path, found)
  } else searchEntries(fields, path, found)
}

/** Searches a template, which may contain more than a template of Kubernetes. */
function searchTemplate({ metadata, spec }: Fields, path: Path, found: Found): void {
  const {
    containers: _,
    initContainers: __,
    ephemeralContainers: ___,
    ...others
  } = fieldsOrNone(spec)
  searchEntries(others, [...path, 'spec'], found)
  search(metadata, [...path, 'metadata'], found)
}

function searchEntries(fields: Fields, path: Path, found: Found): void {
  for (const [key, value] of Object.entries(fields)) {
    if (HOLDS.test(key) && hasImage(value)) found.containers.push([...path, key])
    else search(value, [...path, key], found)
  }
}

/** Reports whether a map is a whole object, and not a reference to one. */
function isObject({ apiVersion, kind, spec, template }: Fields): boolean {
  const isNamed = asText(apiVersion) !== undefined && asText(kind) !== undefined
  return isNamed && (asFields(spec) ?? asFields(template)) !== undefined
}

/** Matches the fields that hold containers, such as `initContainers` and `mainContainer`. */
const HOLDS = /(?:containers?|sidecars?)$/i

/** Reports whether a value is a container, or a list or map with one: a container has an image. */
function hasImage(value: unknown): boolean {
  const isContainer = (one: unknown) => {
    const { image } = fieldsOrNone(one)
    return (asText(image) ?? asFields(image)) !== undefined
  }
  return isContainer(value) || Object.values(value ?? {}).some(isContainer)
}

/** A core/v1 PodTemplateSpec has no other fields. */
const PARTS: ReadonlySet<string> = new Set(['metadata', 'spec'])

function isTemplate(fields: Fields): boolean {
  const metadata = asFields(fields.metadata ?? {})
  const areMaps = asFields(metadata?.annotations ?? {}) !== undefined && metadata !== undefined
  return areMaps && hasContainers(fields) && Object.keys(fields).every((key) => PARTS.has(key))
}

/** Reports whether a pod template has containers, and all of them have names. */
export function hasContainers(template: Fields | undefined): template is Fields {
  const containers = listOrNone(asFields(template?.spec)?.containers)
  return (
    containers.length > 0 &&
    containers.every((container) => asText(asFields(container)?.name) !== undefined)
  )
}
