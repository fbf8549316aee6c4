import { type Decision, type Left, leftIn } from '../../core/decision.ts'
import { asFields, asText, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { REASONS } from '../../core/reasons.ts'
import { listInjectionWarnings as listWarnings } from '../../core/review-pod.ts'
import { whyNot } from './annotate.ts'
import type { InjectedManifest, TemplateOutcome } from './inject.ts'
import { valueAt } from './kinds/paths.ts'
import { annotationsFor, describePlaces } from './kinds/places.ts'
import { findKind } from './kinds/table.ts'
import { isWithoutPods } from './kinds/without-pods.ts'
import { at } from './manifest-error.ts'
import type { Manifest } from './read.ts'
import { findResources, type ManifestResource } from './resources.ts'
import { findTemplates } from './templates.ts'

/**
 * Returns a sentence for each pod template that is denied or contains an error, with the file, the
 * document and the line. An error in one metric of a template is included, although the webhook
 * would only leave this metric.
 */
export function listProblems({ outcomes }: InjectedManifest): readonly string[] {
  return outcomes.flatMap(({ resource, decision }) =>
    problemsIn(decision).map(({ reason, message }) => describe(resource, `${reason}: ${message}`)),
  )
}

function problemsIn(decision: Decision): readonly Pick<Left, 'reason' | 'message'>[] {
  if (decision.outcome === 'denied') return [decision]
  const found = 'reason' in decision ? [decision] : leftIn(decision)
  return found.filter(({ reason }) => REASONS[reason].isErrorInManifest)
}

/** Returns the warnings about pod templates that got observers, as the webhook gives them. */
export function listInjectionWarnings({ manifest, outcomes }: InjectedManifest): readonly string[] {
  return outcomes.flatMap(({ resource, decision, path }) => {
    if (decision.outcome !== 'injected') return []
    const spec = fieldsOrNone(valueAt(manifest.value, [...path, 'spec']))
    const warnings = listWarnings(decision, spec)
    return warnings.map((warning) => describe(resource, warning))
  })
}

/**
 * Returns a sentence with the reason for each pod template with the outcome `left`, and for each
 * object that may create pods but has no pod template.
 */
export function listSkipped({ manifest, outcomes }: InjectedManifest): readonly string[] {
  const lefts = outcomes.flatMap(({ resource, decision }: TemplateOutcome) =>
    decision.outcome === 'left'
      ? [describe(resource, `left: ${decision.reason}: ${decision.message}`)]
      : [],
  )
  return [...lefts, ...findResources(manifest).flatMap(describeLeft)]
}

/**
 * Returns a sentence with the reason why an object of a known kind, which may create pods, has no
 * pod template.
 */
export function describeLeft(resource: ManifestResource): readonly string[] {
  if (resource.kind === 'Namespace' || findTemplates(resource).length > 0) return []
  const row = findKind(resource.group, resource.kind)
  const fields = row && describePlaces(row)
  const why =
    fields === undefined || annotationsFor(resource, {}).length === 0
      ? whyNot(resource)
      : `it has no pod template: use ridealong annotate, which writes ${fields}`
  return why === undefined ? [] : [describe(resource, `left: ${why}`)]
}

/** Returns a sentence for each object of a kind that creates no pods. */
export function listWithoutPods(manifest: Manifest): readonly string[] {
  const objects = findResources(manifest).filter(({ group, kind }) => isWithoutPods(group, kind))
  return objects.map((resource) => describe(resource, 'it creates no pods'))
}

/** Returns a sentence for a document, or items of a list, that are not objects of Kubernetes. */
export function listNotObjects(manifest: Manifest): readonly string[] {
  const { value } = manifest
  const fields = asFields(value)
  if (asText(fields?.kind) === undefined) return value === null ? [] : [at(manifest, NOT_AN_OBJECT)]
  const items = fields?.kind === 'List' ? listOrNone(fields.items) : []
  return items.flatMap((item, index) => {
    const isObject = asText(asFields(item)?.kind) !== undefined
    return isObject ? [] : [at(manifest, `items[${index}]: ${NOT_AN_OBJECT}`)]
  })
}

const NOT_AN_OBJECT = 'it is not an object of Kubernetes: it must be a map with a field kind'

/** Prefixes a sentence with the position, kind and name of an object. */
export function describe({ place, kind, title }: ManifestResource, sentence: string): string {
  return at(place, `${[kind, title].filter((word) => word !== '').join(' ')}: ${sentence}`)
}
