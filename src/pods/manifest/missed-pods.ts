import { asFields } from '../../core/kubernetes/json.ts'
import { findSchemaFields } from './kinds/kind-schemas.ts'
import { distinctPaths, formatPath, pathsAt, valueAt } from './kinds/paths.ts'
import { findPodShapes } from './kinds/pod-shapes.ts'
import { findKind } from './kinds/table.ts'
import { describe } from './report.ts'
import type { HandledObject, ManifestResource } from './resources.ts'
import type { Step } from './yaml/nodes.ts'

type Path = readonly Step[]

/** The objects of which a verb has changed no field, or not every field. */
export interface MissedPods {
  /** A sentence for each of these objects; for those without any such field, one for each kind. */
  readonly notes: readonly string[]
  /** Whether a field from which pods are probably created was not changed. */
  readonly isAnyMissed: boolean
  /** Whether an object has an unknown kind. */
  readonly isAnyUnknown: boolean
}

/**
 * Finds the fields from which pods may be created and which a verb has not changed.
 *
 * @param verb the past of the verb, such as `annotated`
 */
export function findMissedPods(handled: readonly HandledObject[], verb: string): MissedPods {
  const all = handled.map((one) => ({ ...one, missed: findMissedFields(one) }))
  const isNamed = ({ resource, found, missed }: (typeof all)[number]) => {
    return missed.length > 0 || (resource.isUnknown && found.length > 0)
  }
  const others = all.filter((one) => one.resource.isUnknown && !isNamed(one))
  const kinds = Map.groupBy(others, ({ resource: { group, kind } }) => `${group}/${kind}`)
  return {
    notes: [
      ...all.filter(isNamed).flatMap(({ resource, changed, missed }) => {
        return describeFields(resource, changed, missed, verb)
      }),
      ...[...kinds.values()].flatMap((objects) => describeKind(objects.map((one) => one.resource))),
    ],
    isAnyMissed: all.some(({ missed }) => missed.length > 0),
    isAnyUnknown: all.some(({ resource }) => resource.isUnknown),
  }
}

function findMissedFields({ resource, found }: HandledObject): readonly Path[] {
  const { fields, group, kind, isUnknown } = resource
  const names = new Set(found.map(formatPath))
  const isMissed = (path: Path) => !names.has(formatPath(path))
  if (isUnknown) {
    const missed = distinctPaths(findUnknownFields(resource, found).filter(isMissed))
    return [...missed, ...findSiblings(resource, found, [...found, ...missed])]
  }
  // If no template was found, the note about the object says so.
  const listed = found.length === 0 ? [] : (findKind(group, kind)?.templates ?? [])
  const paths = listed.flatMap((path) => pathsAt(fields, path))
  return paths.filter((path) => isMissed(path) && valueAt(fields, path) != null)
}

/** Returns the fields of an object of an unknown kind from which pods may be created. */
function findUnknownFields(
  { fields, schema = {} }: ManifestResource,
  found: readonly Path[],
): readonly Path[] {
  const shapes = findPodShapes(fields)
  const inSchema = findSchemaFields(schema, fields)
  const names = new Set(found.map(formatPath))
  const changed = inSchema.filter(({ path }) => names.has(formatPath(path)))
  const containers = shapes.containers.filter((path) => {
    return !changed.some(({ hasContainers }) => hasContainers(path.slice(0, -1)))
  })
  return [...shapes.templates, ...containers, ...inSchema.map(({ path }) => path)]
}

/**
 * Returns the items of lists in which other items have pods: the operator may create pods from each
 * of them.
 *
 * @param named the fields that are not reported again
 */
function findSiblings(
  { fields }: ManifestResource,
  found: readonly Path[],
  named: readonly Path[],
): readonly Path[] {
  const inside = new Set(
    named.flatMap((path) => path.map((_, end) => formatPath(path.slice(0, end)))),
  )
  const lists = found.flatMap((path) => {
    return path.flatMap((step, depth) => (typeof step === 'number' ? [path.slice(0, depth)] : []))
  })
  return distinctPaths(lists).flatMap((list) => {
    const items = valueAt(fields, list) as readonly unknown[]
    return items.flatMap((item, index) => {
      const path = [...list, index]
      return asFields(item) === undefined || inside.has(formatPath(path)) ? [] : [path]
    })
  })
}

/** The most fields in a sentence, which has a limited length. */
const MAX_FIELDS = 20

function describeFields(
  resource: ManifestResource,
  changed: readonly Path[],
  missed: readonly Path[],
  verb: string,
): readonly string[] {
  const unknown = resource.isUnknown ? 'this kind is unknown' : ''
  const lists = [
    ...splitList(changed).map((list) => `${verb}: ${list}`),
    ...splitList(missed).map((list) => `not ${verb}: ${list}`),
  ]
  const advice = missed.length > 0 ? ALL_PODS : OTHER_FIELDS
  const parts = [unknown, ...lists, advice].filter((part) => part !== '')
  const isShort = changed.length <= MAX_FIELDS && missed.length <= MAX_FIELDS
  const sentences = isShort ? [parts.join('; ')] : parts
  return sentences.map((sentence) => describe(resource, sentence))
}

function splitList(paths: readonly Path[]): readonly string[] {
  const starts = paths.flatMap((_, index) => (index % MAX_FIELDS === 0 ? [index] : []))
  return starts.map((start) => {
    const part = paths.slice(start, start + MAX_FIELDS)
    return part.map(formatPath).join(', ')
  })
}

const ALL_PODS = 'to observe all its pods, annotate the namespace'
const OTHER_FIELDS = 'its operator may also create pods from other fields'

function describeKind(objects: readonly ManifestResource[]): readonly string[] {
  const [first, ...others] = objects
  if (first === undefined) return []
  const count = others.length + 1
  const which = others.length > 0 ? `its ${count} objects have` : 'the object has'
  return [describe(first, `this kind is unknown, and ${which} no pod template; ${IF_PODS}`)]
}

const IF_PODS = 'if its operator creates pods, annotate the namespace instead'
