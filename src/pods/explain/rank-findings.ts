import type { Decision } from '../../core/decision.ts'
import { KEYS } from '../../core/keys.ts'
import { type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import type { Request } from '../../core/request.ts'
import { selectsRanks } from '../../core/rules/rank-selection.ts'
import type { Facts } from './facts.ts'
import { type Finding, find } from './finding.ts'

/** Reports whether the observers depend on the rank of each pod, which a template does not have. */
export function dependsOnRank({ isTemplate }: Facts, request: Request): boolean {
  return isTemplate === true && request.kind === 'asked' && selectsRanks(request)
}

/** Returns the facts without the annotations that select ranks. */
export function withoutRanks(facts: Facts): Facts {
  const { review, settings } = facts
  const { catalog, namespace } = settings
  const keys = new Set<string>([
    KEYS.ranks,
    ...[...catalog.metrics.values()].map(({ ranksKey }) => ranksKey),
  ])
  const annotations = new Map([...namespace.annotations].filter(([key]) => !keys.has(key)))
  return {
    ...facts,
    review: { ...review, object: withoutKeys(fieldsOrNone(review.object), keys) },
    settings: { ...settings, namespace: { ...namespace, annotations } },
  }
}

function withoutKeys(pod: Fields, keys: ReadonlySet<string>): Fields {
  const metadata = fieldsOrNone(pod.metadata)
  const kept = Object.entries(fieldsOrNone(metadata.annotations)).filter(([key]) => !keys.has(key))
  return { ...pod, metadata: { ...metadata, annotations: Object.fromEntries(kept) } }
}

/**
 * Returns the finding of the rule that selects ranks, for a pod that this rule did not stop.
 *
 * @param isOpen whether the result differs from pod to pod, because the pod stands for a template
 */
export function rankFinding(
  name: string,
  request: Request,
  decision: Decision,
  isOpen: boolean,
): Finding {
  if (isOpen) return find(name, 'look', 'decided for each pod when it is created')
  const others = decision.outcome === 'injected' ? decision.others : []
  if (others.length > 0) {
    const sentences = others.map(({ metric, message }) => `without ${metric}: ${message}`)
    return find(name, 'look', sentences.join('; '))
  }
  const isChosen = request.kind === 'asked' && selectsRanks(request)
  return find(name, 'ok', isChosen ? 'the rank of the pod is selected' : 'all pods are selected')
}
