import type { Decision } from '../../core/decision.ts'
import { STATUS_KEY } from '../../core/keys.ts'
import { type Fields, listOrNone } from '../../core/kubernetes/json.ts'
import type { Operation } from '../../core/patch.ts'
import type { Review } from '../../core/review.ts'
import type { PodReview } from '../../core/review-pod.ts'
import { type Before, describeBefore, remember } from './before.ts'
import { type Edit, editedDocument } from './edit.ts'
import { type Extension, extend } from './extend.ts'
import { findAnnotatedTemplates } from './kinds/places.ts'
import type { Manifest } from './read.ts'
import { findResources, type HandledObject, type ManifestResource } from './resources.ts'
import { buildReview } from './static-pod.ts'
import type { Template } from './templates.ts'
import { type Patch, verify } from './verify.ts'
import type { Step } from './yaml/nodes.ts'

/** The decision about a pod template. */
export interface TemplateOutcome {
  readonly resource: ManifestResource
  /** The path of the template from the root of the document. */
  readonly path: readonly Step[]
  readonly decision: Decision
}

/** A document after injection, with the outcome for each of its pod templates. */
export interface InjectedManifest {
  readonly manifest: Manifest
  /** The text of this document, including the markers before it. */
  readonly text: string
  readonly outcomes: readonly TemplateOutcome[]
  readonly objects: readonly HandledObject[]
}

/** Reviews the first pod of a template. */
export type Answer = (review: Review, template: Template) => PodReview

/**
 * Adds observers to the pod templates of a document that request observers, as the webhook would
 * add them to the pods. Templates whose annotations the apiserver would remove are not changed.
 * The rest of the text is unchanged, byte for byte.
 *
 * @param namespace the namespace of objects that do not set one
 * @throws ManifestError if the document cannot be edited without changing something else
 */
export function inject(manifest: Manifest, answer: Answer, namespace: string): InjectedManifest {
  const resources = findResources(manifest)
  const rides = resources
    .flatMap(findAnnotatedTemplates)
    .map((template) => injectTemplate(template, answer, namespace))
  const edits = rides.flatMap(({ edits }) => edits)
  const text = editedDocument(manifest, edits)
  if (edits.length > 0) verify(manifest, text, rides)
  const objects = resources.map((resource): HandledObject => {
    const own = rides.filter((ride) => ride.resource.path === resource.path)
    const found = own.map(({ path }) => path.slice(resource.path.length))
    return { resource, found, changed: found.filter((_, index) => hasObservers(own[index])) }
  })
  return { manifest, text, outcomes: rides, objects }
}

function hasObservers(ride: TemplateOutcome | undefined): boolean {
  if (ride === undefined) return false
  const { decision } = ride
  return decision.outcome !== 'left' || decision.reason === 'already-injected'
}

interface TemplateInjection extends TemplateOutcome, Patch {
  readonly edits: readonly Edit[]
}

function injectTemplate(template: Template, answer: Answer, namespace: string): TemplateInjection {
  const { resource, path } = template
  const review = buildReview(template, resource.namespace || namespace)
  const { decision, operations, fault } = answer(review, template)
  if (fault !== undefined) throw fault
  const isWritten = decision.outcome === 'injected' || decision.outcome === 'restored'
  const target = decision.outcome === 'injected' ? decision.target : undefined
  const extensions = isWritten ? withMemory(template, toExtensions(operations), target) : []
  const edits = extensions.flatMap((extension) => extend(resource.manifest, path, extension))
  return { resource, decision, path, extensions, edits }
}

/** Returns the extensions, with the text that they replace stored in the status annotation. */
function withMemory(
  template: Template,
  extensions: readonly Extension[],
  target: string | undefined,
): readonly Extension[] {
  const { resource, path, fields } = template
  const now: Before = Object.assign(
    {},
    ...extensions.map((extension) => describeBefore(resource.manifest, path, extension)),
  )
  return extensions.map((extension) => {
    const status = 'entries' in extension ? extension.entries[STATUS_KEY] : undefined
    if (!('entries' in extension) || typeof status !== 'string') return extension
    const remembered = remember(status, fields, target, now, resource.place)
    return { ...extension, entries: { ...extension.entries, [STATUS_KEY]: remembered } }
  })
}

/**
 * Converts the operations of a patch to extensions. All items that are added to one list become one
 * extension.
 */
function toExtensions(operations: readonly Operation[]): readonly Extension[] {
  const extensions = new Map<string, Extension>()
  for (const operation of operations) {
    if (operation.op !== 'add') throw new Error(`a patch operation is ${operation.op}, not add`)
    const extension = toExtension(parsePointer(operation.path), operation.value)
    const key = extension.path.join('/')
    extensions.set(key, joined(extensions.get(key), extension))
  }
  return [...extensions.values()]
}

function toExtension(steps: readonly Step[], value: unknown): Extension {
  const [parent, last = ''] = [steps.slice(0, -1), steps.at(-1)]
  if (last === '-') return { path: parent, first: [], items: [value] }
  // The patch inserts items only at the beginning of a list, in their order.
  if (/^\d+$/.test(String(last))) return { path: parent, first: [value], items: [] }
  if (Array.isArray(value)) return { path: steps, first: [], items: listOrNone(value) }
  if (last === 'annotations') return { path: steps, entries: value as Fields }
  return { path: parent, entries: { [last]: value } }
}

function joined(first: Extension | undefined, second: Extension): Extension {
  if (first === undefined) return second
  const { path } = first
  if ('items' in first && 'items' in second) {
    const inserted = [...first.first, ...second.first]
    return { path, first: inserted, items: [...first.items, ...second.items] }
  }
  if ('entries' in first && 'entries' in second)
    return { path, entries: { ...first.entries, ...second.entries } }
  throw new Error(`a patch uses ${path.join('.')} as a map and as a list`)
}

/** Parses an RFC 6901 JSON pointer. */
function parsePointer(pointer: string): readonly Step[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}
