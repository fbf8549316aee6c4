import { asFields, asText, type Fields, listOrNone } from '../core/kubernetes/json.ts'
import { findKind, isBuiltIn } from './kinds.ts'
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
  const { group, kind, fields } = resource
  const row = findKind(group, kind)
  const found =
    row === undefined
      ? isBuiltIn(group)
        ? []
        : byShape(fields.spec, ['spec'])
      : (row.templates ?? []).flatMap((path) => pathsAt(fields, path))
  return found.flatMap((path) => {
    const template = asFields(valueAt(fields, path))
    if (!hasContainers(template)) return []
    return [{ resource, path: [...resource.path, ...path], fields: template }]
  })
}

/** Returns the paths in an object that match a pattern from the table of kinds. */
export function pathsAt(fields: Fields, pattern: string): readonly (readonly Step[])[] {
  const steps = pattern === '' ? [] : pattern.split('.')
  return steps.reduce<readonly (readonly Step[])[]>(
    (paths, step) =>
      paths.flatMap((path) => (step === '*' ? expandPath(fields, path) : [[...path, step]])),
    [[]],
  )
}

function expandPath(fields: Fields, path: readonly Step[]): readonly (readonly Step[])[] {
  const value = valueAt(fields, path)
  const keys = Array.isArray(value) ? value.keys() : Object.keys(asFields(value) ?? {})
  return [...keys].map((key) => [...path, key])
}

/** Returns the value at a path; undefined if the path does not exist. */
export function valueAt(value: unknown, path: readonly Step[]): unknown {
  return path.reduce<unknown>((here, step) => {
    if (Array.isArray(here)) return here[Number(step)]
    const fields = asFields(here)
    return fields !== undefined && Object.hasOwn(fields, step) ? fields[step] : undefined
  }, value)
}

/**
 * Finds pod templates by their shape: a core/v1 PodTemplateSpec has no fields other than metadata
 * and spec, and all containers in the spec have names.
 */
function byShape(value: unknown, path: readonly Step[]): readonly (readonly Step[])[] {
  const fields = asFields(value)
  const isTemplate = hasContainers(fields) && Object.keys(fields).every((key) => PARTS.has(key))
  if (isTemplate) return [path]
  const inner = Array.isArray(value) ? [...value.entries()] : Object.entries(fields ?? {})
  return inner.flatMap(([step, held]) => byShape(held, [...path, step]))
}

const PARTS: ReadonlySet<string> = new Set(['metadata', 'spec'])

function hasContainers(template: Fields | undefined): template is Fields {
  const containers = listOrNone(asFields(template?.spec)?.containers)
  return (
    containers.length > 0 &&
    containers.every((container) => asText(asFields(container)?.name) !== undefined)
  )
}
