import { asFields, asText } from '../../core/kubernetes/json.ts'
import { REASONS } from '../../core/reasons.ts'
import { listOverlaps } from '../../core/rules/overlapping-metrics.ts'
import { whyNot } from './annotate.ts'
import type { InjectedManifest, TemplateOutcome } from './inject.ts'
import { annotationsFor, describePlaces } from './kinds/places.ts'
import { findKind } from './kinds/table.ts'
import { whyNoPods } from './kinds/without-pods.ts'
import { at } from './manifest-error.ts'
import type { Manifest } from './read.ts'
import { findResources, type ManifestResource } from './resources.ts'
import { findTemplates } from './templates.ts'

/**
 * Returns a sentence for each pod template that is denied or contains an error, with the file, the
 * document and the line.
 */
export function listProblems({ outcomes }: InjectedManifest): readonly string[] {
  return outcomes.flatMap(({ resource, decision }) => {
    if (!('reason' in decision)) return []
    const { outcome, reason, message } = decision
    const isWrong = outcome === 'denied' || REASONS[reason].isErrorInManifest === true
    return isWrong ? [describe(resource, `${reason}: ${message}`)] : []
  })
}

/**
 * Returns the warnings about pod templates that got observers: metrics that measure the same.
 */
export function listInjectionWarnings({ outcomes }: InjectedManifest): readonly string[] {
  return outcomes.flatMap(({ resource, decision }) => {
    if (decision.outcome !== 'injected') return []
    const warnings = listOverlaps(decision.observers.map(({ metric }) => metric))
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
  return [...lefts, ...findResources(manifest).flatMap(withoutTemplate)]
}

function withoutTemplate(resource: ManifestResource): readonly string[] {
  if (resource.kind === 'Namespace' || findTemplates(resource).length > 0) return []
  const row = findKind(resource.group, resource.kind)
  const fields = row && describePlaces(row)
  const why =
    fields === undefined || annotationsFor(resource, {}).length === 0
      ? whyNot(resource)
      : `it has no pod template: use ridealong annotate, which writes ${fields}`
  return why === undefined ? [] : [describe(resource, `left: ${why}`)]
}

/**
 * Returns a sentence for each object of a known kind that creates no pods, with the reason, and for
 * a document that is not an object of Kubernetes.
 */
export function listWithoutPods(manifest: Manifest): readonly string[] {
  const isObject = asText(asFields(manifest.value)?.kind) !== undefined
  if (!isObject && manifest.value !== null) return [at(manifest, NOT_AN_OBJECT)]
  return findResources(manifest).flatMap((resource) => {
    const { group, kind } = resource
    const why = findKind(group, kind) === undefined ? whyNoPods(group, kind) : undefined
    return why === undefined ? [] : [describe(resource, `it creates no pods: ${why}`)]
  })
}

const NOT_AN_OBJECT = 'it is not an object of Kubernetes: it must be a map with a field kind'

/** Prefixes a sentence with the position, kind and name of an object. */
export function describe({ place, kind, name }: ManifestResource, sentence: string): string {
  return at(place, `${[kind, name].filter((word) => word !== '').join(' ')}: ${sentence}`)
}
