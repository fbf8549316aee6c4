import type { Decision } from '../../core/decision.ts'
import { KEYS } from '../../core/keys.ts'
import { type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import type { Request } from '../../core/request.ts'
import { selectsPods } from '../../core/rules/pod-selection.ts'
import type { Facts } from './facts.ts'
import { describeWithout, type Finding, find } from './finding.ts'

/** Reports whether the observers depend on the index of each pod; a template has none. */
export function dependsOnPod({ isTemplate }: Facts, request: Request): boolean {
  return isTemplate === true && request.kind === 'asked' && selectsPods(request)
}

/** Returns the facts without the annotations that select pods. */
export function withoutSelection(facts: Facts): Facts {
  const { review, settings } = facts
  const { catalog, namespace } = settings
  const keys = new Set<string>([
    KEYS.pods,
    ...[...catalog.metrics.values()].map(({ podsKey }) => podsKey),
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
 * Returns the finding of the rule that selects pods, for a pod that this rule did not stop.
 *
 * @param isOpen whether the result differs from pod to pod, because the pod stands for a template
 */
export function selectionFinding(
  name: string,
  request: Request,
  decision: Decision,
  isOpen: boolean,
): Finding {
  if (isOpen) return find(name, 'look', 'decided for each pod when it is created')
  const others = decision.outcome === 'injected' ? decision.others : []
  if (others.length > 0) {
    return find(name, 'look', others.map(describeWithout).join('; '))
  }
  const isChosen = request.kind === 'asked' && selectsPods(request)
  return find(name, 'ok', isChosen ? 'the pod is selected' : 'all pods are selected')
}
