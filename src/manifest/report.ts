import type { Reason } from '../core/reasons.ts'
import { whyNot } from './annotate.ts'
import type { Injected, Outcome } from './inject.ts'
import { kindOf } from './kinds.ts'
import { type Resource, resourcesOf } from './resources.ts'
import { templatesOf } from './templates.ts'
import { at } from './trouble.ts'

/** Reasons that lie in what somebody wrote wrongly: mended in the file, never in the cluster. */
const WRONG: ReadonlySet<Reason> = new Set([
  'unknown-metric',
  'invalid-option',
  'unknown-target-container',
  'invalid-pod',
])

/** What is wrong with the requests in a document, a sentence each with its file, document and line. */
export function wrongsOf({ outcomes }: Injected): readonly string[] {
  return outcomes.flatMap(({ resource, decision }) => {
    const isWrong =
      'reason' in decision && (decision.outcome === 'denied' || WRONG.has(decision.reason))
    return isWrong ? [sentenceOf(resource, `${decision.reason}: ${decision.message}`)] : []
  })
}

/** Which objects of a document were left alone, and why. */
export function leftsOf({ manifest, outcomes }: Injected): readonly string[] {
  const lefts = outcomes.flatMap(({ resource, decision }: Outcome) =>
    decision.outcome === 'left'
      ? [sentenceOf(resource, `left: ${decision.reason}: ${decision.message}`)]
      : [],
  )
  return [...lefts, ...resourcesOf(manifest).flatMap(withoutTemplate)]
}

function withoutTemplate(resource: Resource): readonly string[] {
  if (resource.kind === 'Namespace' || templatesOf(resource).length > 0) return []
  const { annotations } = kindOf(resource.group, resource.kind) ?? {}
  const why =
    annotations === undefined
      ? whyNot(resource)
      : `its operator makes the pods: ridealong annotate writes ${annotations.join(' and ')}`
  return why === undefined ? [] : [sentenceOf(resource, `left: ${why}`)]
}

/** A sentence about an object, which names its place, its kind and its name. */
export function sentenceOf({ place, kind, name }: Resource, sentence: string): string {
  return at(place, `${[kind, name].filter((word) => word !== '').join(' ')}: ${sentence}`)
}
