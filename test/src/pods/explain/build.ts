import { readNamespace } from '../../../../src/core/namespaces/namespace.ts'
import { type Explanation, explain } from '../../../../src/pods/explain/explain.ts'
import type {
  Admission,
  Facts,
  UncheckedRules,
  WebhookFacts,
} from '../../../../src/pods/explain/facts.ts'
import { POD_ASKS } from '../../../../src/pods/explain/webhook-findings.ts'
import { CATALOG, type Json, type Place, reviewOf } from '../../core/build.ts'

/** The time at which the explanations are made. */
export const NOW = Date.now()

const EXCLUDED = {
  matchExpressions: [
    { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system', 'apart'] },
  ],
}
const ARMED = { matchLabels: { 'ridealong.dev/armed': 'true' }, ...EXCLUDED }

const MOVED = { matchLabels: { 'ridealong.dev/moved-from': 'default' }, ...EXCLUDED }

/** Returns a webhook configuration like the chart's, with simpler selectors and conditions. */
export function configuration(
  caBundle = '',
  clientConfig: Json = { url: 'https://10.0.0.1/' },
): Json {
  const webhook = (
    name: string,
    namespaceSelector: Json,
    condition: string,
    expression: string,
  ) => ({
    name,
    namespaceSelector,
    failurePolicy: 'Ignore',
    clientConfig: { ...clientConfig, caBundle: Buffer.from(caBundle).toString('base64') },
    matchConditions: [{ name: condition, expression }],
  })
  return {
    metadata: { name: 'ridealong' },
    webhooks: [
      webhook('pods.ridealong.dev', EXCLUDED, 'pod-asks', POD_ASKS),
      webhook('armed.ridealong.dev', ARMED, 'pod-does-not-ask', `!(${POD_ASKS})`),
      webhook('namespaces.ridealong.dev', EXCLUDED, 'asks-or-is-armed-or-moves', 'true'),
      webhook('moved.ridealong.dev', MOVED, 'pod-has-no-status', 'true'),
    ],
  }
}

/** The facts of an explanation. Without `webhook`, nothing is known about a webhook. */
export interface Situation extends Place {
  readonly webhook?: Partial<WebhookFacts> | undefined
  readonly name?: string
  readonly managedFields?: readonly Json[]
  readonly pods?: number
  readonly isCatalogGuessed?: boolean
  readonly admission?: Admission
  readonly isAssumed?: boolean
  readonly unchecked?: UncheckedRules
}

/** Explains a pod that does not exist yet, or an existing pod if `created` is given. */
export function explained(pod: unknown, situation: Situation = {}, created?: Json): Explanation {
  return explain(factsOf(pod, situation, created))
}

/** Returns the facts about a pod that does not exist yet, or about an existing pod. */
export function factsOf(pod: unknown, situation: Situation = {}, created?: Json): Facts {
  const { annotations = {}, labels = {}, excluded = [], rules, name = 'hpc' } = situation
  const known = { 'kubernetes.io/metadata.name': name, ...labels }
  const { managedFields = [] } = situation
  const namespace = { metadata: { name, annotations, labels: known, managedFields } }
  const all = { limitRanges: [], resourceQuotas: [], ...rules }
  return {
    subject: 'pod/lammps-0',
    review: reviewOf(pod, { namespace: name, ...situation.review }),
    created,
    settings: {
      catalog: situation.catalog ?? CATALOG,
      namespace: readNamespace(name, namespace, all),
      excludedNamespaces: new Set(excluded),
      apiserverVersion: situation.apiserverVersion,
      heldImages: situation.heldImages && new Set(situation.heldImages),
    },
    pods: situation.pods ?? 1,
    namespace: { value: namespace },
    unchecked: situation.unchecked ?? {},
    isCatalogGuessed: situation.isCatalogGuessed === true,
    webhook: situation.webhook && {
      now: NOW,
      configuration: { value: configuration() },
      serving: { problem: 'no server was called' },
      ready: { value: 2 },
      ...situation.webhook,
    },
    admission: situation.admission,
    ...(situation.isAssumed && { isAssumed: true }),
  }
}
