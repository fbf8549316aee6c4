import {
  asFields,
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../../core/kubernetes/json.ts'
import type { Step } from '../yaml/nodes.ts'
import { formatPath, valueAt } from './paths.ts'

type Path = readonly Step[]

/** Returns the schemas of a CustomResourceDefinition, and an empty list for other objects. */
export function readDefinition({ kind, spec }: Fields): readonly (readonly [string, Fields])[] {
  if (kind !== 'CustomResourceDefinition') return []
  const { group, names, versions } = fieldsOrNone(spec)
  return asObjects(versions).flatMap(({ name, schema }) => {
    const root = asFields(fieldsOrNone(schema).openAPIV3Schema)
    return root === undefined ? [] : [[`${group}/${name}/${fieldsOrNone(names).kind}`, root]]
  })
}

/** A field of an object from which, according to its schema, an operator creates pods. */
export interface SchemaField {
  /** A pod template, or annotations for pods. */
  readonly path: Path
  /** The map of the annotations. */
  readonly annotations: Path
  /** Reports whether the containers in a map are probably those of the pods. */
  readonly hasContainers: (holder: Path) => boolean
}

/** Finds the fields of an object for pod templates and for annotations of pods. */
export function findSchemaFields(schema: Fields, fields: Fields): readonly SchemaField[] {
  const { metadata: _, status: __, ...properties } = fieldsOrNone(schema.properties)
  return searchProperties(properties, fields, [])
}

function searchSchema(schema: unknown, value: unknown, path: Path): readonly SchemaField[] {
  const { items, properties, additionalProperties } = fieldsOrNone(schema)
  if (Array.isArray(value))
    return value.flatMap((item, index) => searchSchema(items, item, [...path, index]))
  const fields = asFields(value)
  if (fields === undefined || isPodSpec(schema)) return []
  const declared = fieldsOrNone(properties)
  const others = Object.keys(fields).filter((key) => !Object.hasOwn(declared, key))
  return [
    ...searchProperties(declared, fields, path),
    ...others.flatMap((key) => searchSchema(additionalProperties, fields[key], [...path, key])),
  ]
}

function searchProperties(properties: Fields, fields: Fields, owner: Path): readonly SchemaField[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const path = [...owner, key]
    const value = fields[key]
    if (isTemplate(schema)) return asFields(value) === undefined ? [] : [templateAt(path)]
    const annotations = findPodAnnotations(schema, value, path)
    if (annotations !== undefined) return [annotationsAt(annotations, owner)]
    return searchSchema(schema, value, path)
  })
}

function annotationsAt(path: Path, owner: Path): SchemaField {
  return { path, annotations: path, hasContainers: (holder) => isNear(holder, owner) }
}

/** Reports whether a map is the owner of a field, or a map in it: deeper maps are of other pods. */
function isNear(path: Path, owner: Path): boolean {
  return owner.every((step, depth) => path[depth] === step) && path.length <= owner.length + 1
}

function templateAt(path: Path): SchemaField {
  return {
    path,
    annotations: [...path, 'metadata', 'annotations'],
    hasContainers: (holder) => formatPath(holder) === formatPath([...path, 'spec']),
  }
}

/** Reports whether a schema is one of core/v1 PodTemplateSpec. */
function isTemplate(schema: unknown): boolean {
  const { metadata, spec, ...others } = fieldsOrNone(fieldsOrNone(schema).properties)
  return metadata !== undefined && isPodSpec(spec) && Object.keys(others).length === 0
}

function isPodSpec(schema: unknown): boolean {
  const { containers } = fieldsOrNone(fieldsOrNone(schema).properties)
  const { items } = fieldsOrNone(containers)
  return Object.hasOwn(fieldsOrNone(fieldsOrNone(items).properties), 'image')
}

/** The names of fields for annotations of pods, and of fields that contain such annotations. */
const POD_ANNOTATIONS = /^(additional|common|extra)?pod(template)?annotations$/i
const POD_METADATA = /^(additional|common|extra)?pod(meta|metadata|template)?$/i

function findPodAnnotations(schema: unknown, value: unknown, path: Path): Path | undefined {
  const key = String(path.at(-1))
  if (asFields(value ?? {}) === undefined) return undefined
  if (POD_ANNOTATIONS.test(key) && isTextMap(schema)) return path
  if (!POD_METADATA.test(key)) return undefined
  const { annotations, metadata } = fieldsOrNone(fieldsOrNone(schema).properties)
  if (isTextMap(annotations)) return [...path, 'annotations']
  const inside = fieldsOrNone(fieldsOrNone(metadata).properties)
  return isTextMap(inside.annotations) ? [...path, 'metadata', 'annotations'] : undefined
}

function isTextMap(schema: unknown): boolean {
  return asText(fieldsOrNone(fieldsOrNone(schema).additionalProperties).type) === 'string'
}

/**
 * Reports whether an object can have an annotation: the apiserver keeps it, and the maps that are
 * created for it need no other field.
 *
 * @param schema the schema of the object
 * @param path the path of the annotation in the object
 */
export function canHaveAnnotation(schema: Fields, fields: Fields, path: Path): boolean {
  const isComplete = path.every((step, depth) => {
    const parent = path.slice(0, depth)
    const { required } = schemaAt(schema, parent)
    return valueAt(fields, parent) != null || listOrNone(required).every((key) => key === step)
  })
  return isComplete && isKept(schema, path)
}

function schemaAt(schema: Fields, path: Path): Fields {
  return path.reduce((here, step) => fieldsOrNone(schemaOf(here, step)), schema)
}

/**
 * Reports whether the apiserver keeps a field of a custom resource. It removes the fields that the
 * schema does not declare (apiextensions-apiserver pkg/apiserver/schema/pruning/algorithm.go), but
 * none in the metadata of an object inside the resource, and none that Kubernetes itself declares.
 */
export function isKept(schema: Fields, path: Path): boolean {
  let here = schema
  for (const step of path) {
    if (isReference(here) || (step === 'metadata' && here[EMBEDDED] === true)) return true
    const next = schemaOf(here, step)
    if (asFields(next) === undefined) return next === true || here[PRESERVED] === true
    here = fieldsOrNone(next)
  }
  return true
}

function schemaOf({ properties, items, additionalProperties }: Fields, step: Step): unknown {
  if (typeof step === 'number') return items
  const declared = fieldsOrNone(properties)
  return Object.hasOwn(declared, step) ? declared[step] : additionalProperties
}

const EMBEDDED = 'x-kubernetes-embedded-resource'
const PRESERVED = 'x-kubernetes-preserve-unknown-fields'

/** Reports whether a schema refers to another, as the apiserver's do to those of Kubernetes. */
function isReference({ $ref, allOf }: Fields): boolean {
  return $ref !== undefined || asObjects(allOf).some((part) => part.$ref !== undefined)
}
