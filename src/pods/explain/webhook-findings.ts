import { ARMED_LABEL } from '../../core/keys.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { nameRevision, readRevision } from '../../core/namespaces/revision.ts'
import { bundleProblem, servingProblem } from './certificate.ts'
import type { FactLookup, WebhookFacts } from './facts.ts'
import { type Finding, find, stop } from './finding.ts'
import { unmetIn } from './selector.ts'
import {
  ARMED_WEBHOOK,
  calledBy,
  NAMESPACE_WEBHOOK,
  POD_WEBHOOK,
  readCaBundle,
  serverName,
  webhookIn,
} from './webhook.ts'

/** The facts about a pod that determine which webhooks the apiserver calls. */
export interface Caller {
  /**
   * Whether the pod itself has the annotation `ridealong.dev/inject`; if not, its namespace may
   * request observers.
   */
  readonly asksItself: boolean
  readonly labels: Fields
  readonly namespace: FactLookup<Fields | undefined>
}

/**
 * Checks whether the apiserver calls the webhook for a pod and can reach it: the configuration, its
 * CA, its failure policy, the ready replicas, the selectors and the match conditions.
 */
export function webhookFindings(facts: WebhookFacts, caller: Caller): readonly Finding[] {
  const { configuration: asked } = facts
  const title = 'webhook configuration'
  if ('problem' in asked) return [find(title, 'unknown', asked.problem)]
  const absent = absentRevision(facts, caller)
  if (absent !== undefined) return [stop(title, 'revision-absent', absent)]
  const name = caller.asksItself ? POD_WEBHOOK : ARMED_WEBHOOK
  const configuration = asked.value
  const webhook = configuration && webhookIn(configuration, name)
  if (webhook === undefined) {
    const sentence = `no MutatingWebhookConfiguration has ${name}: Ridealong is not installed`
    return [stop(title, 'webhook-absent', sentence)]
  }
  const called = String(fieldsOrNone(configuration?.metadata).name)
  return [
    find(title, 'ok', `${called} has ${name}`),
    ...completeness(configuration ?? {}),
    ...trustFindings(facts, webhook),
    policyFinding(webhook),
    ...readyFinding(facts),
    ...matchFindings(webhook, caller),
  ]
}

/** Returns a sentence if no release has the revision of the namespace, but others exist. */
function absentRevision(
  { configuration, revisions = [] }: WebhookFacts,
  { namespace }: Caller,
): string | undefined {
  if ('problem' in namespace || revisions.length === 0) return undefined
  const revision = readRevision(namespace.value)
  if (revisions.includes(nameRevision(revision))) return undefined
  if ('value' in configuration && configuration.value !== undefined) return undefined
  const what =
    revision === undefined
      ? 'the namespace has no label ridealong.dev/revision, and there is no default release'
      : `no release has the revision ${revision} of the namespace`
  return `${what}; the releases are ${revisions.join(', ')}`
}

function completeness(configuration: Fields): readonly Finding[] {
  if (webhookIn(configuration, NAMESPACE_WEBHOOK) !== undefined) return []
  const sentence = `${NAMESPACE_WEBHOOK} is missing, so namespaces are armed a few minutes late`
  return [find('webhook for namespaces', 'look', sentence)]
}

function trustFindings({ now, serving }: WebhookFacts, webhook: Fields): readonly Finding[] {
  const bundle = readCaBundle(webhook)
  const problem = bundleProblem(bundle, now)
  if (problem !== undefined) return [stop('CA', 'webhook-ca', problem)]
  if ('problem' in serving) {
    const sentence = `caBundle is valid; the server's certificate is not known: ${serving.problem}`
    return [find('CA', 'unknown', sentence)]
  }
  const wrong = servingProblem(bundle, serving.value, serverName(calledBy(webhook)), now)
  return wrong === undefined
    ? [find('CA', 'ok', "caBundle verifies the server's certificate")]
    : [stop('CA', 'webhook-ca', wrong)]
}

function policyFinding({ failurePolicy }: Fields): Finding {
  const missing = 'if the webhook does not answer, pods are'
  return failurePolicy === 'Ignore'
    ? find('failurePolicy', 'ok', `Ignore: ${missing} created without observers`)
    : find('failurePolicy', 'look', `Fail: ${missing} not created`)
}

function readyFinding({ ready }: WebhookFacts): readonly Finding[] {
  if ('problem' in ready) return [find('replicas', 'unknown', ready.problem)]
  if (ready.value === undefined) return []
  return ready.value > 0
    ? [find('replicas', 'ok', `${ready.value} ready`)]
    : [stop('replicas', 'webhook-away', 'no replica is ready, so the apiserver gets no answer')]
}

function matchFindings(webhook: Fields, caller: Caller): readonly Finding[] {
  return [
    namespaceFinding(webhook, caller),
    objectFinding(webhook, caller),
    conditionFinding(webhook, caller),
  ]
}

function namespaceFinding({ namespaceSelector }: Fields, { namespace }: Caller): Finding {
  const title = 'namespaceSelector'
  if ('problem' in namespace) return find(title, 'unknown', namespace.problem)
  const metadata = fieldsOrNone(namespace.value?.metadata)
  const unmet = unmetIn(namespaceSelector, fieldsOrNone(metadata.labels))
  if (unmet === undefined) return find(title, 'ok', 'selects the namespace')
  if (unmet.key === ARMED_LABEL) {
    const sentence = `the namespace is not armed: it does not have the label ${unmet.text}`
    return stop('armed', 'not-armed', sentence)
  }
  const isName = unmet.key === 'kubernetes.io/metadata.name'
  const reason = isName ? 'excluded-namespace' : 'not-selected'
  return stop(title, reason, `does not select the namespace: it requires ${unmet.text}`)
}

function objectFinding({ objectSelector }: Fields, { labels }: Caller): Finding {
  const unmet = unmetIn(objectSelector, labels)
  return unmet === undefined
    ? find('objectSelector', 'ok', 'selects the pod')
    : stop('objectSelector', 'not-selected', `does not select the pod: it requires ${unmet.text}`)
}

function conditionFinding(webhook: Fields, { asksItself }: Caller): Finding {
  const { holds, names } = readMatchConditions(webhook, asksItself)
  if (holds === undefined)
    return find(
      'matchConditions',
      'unknown',
      `${names}: not evaluated, because an expression differs from the chart's`,
    )
  return holds
    ? find('matchConditions', 'ok', names === '' ? 'there are none' : `true: ${names}`)
    : stop('matchConditions', 'not-selected', `not all are true: ${names}`)
}

/**
 * The CEL expression with which the chart selects pods that have the annotation
 * `ridealong.dev/inject`. A test checks that the chart has the same text.
 */
export const POD_ASKS =
  "has(object.metadata.annotations) && 'ridealong.dev/inject' in object.metadata.annotations"

/**
 * The expressions in the chart's matchConditions, each with a function that returns its result. The
 * parameter is whether the pod itself has the annotation `ridealong.dev/inject`.
 */
const KNOWN: ReadonlyMap<string, (asksItself: boolean) => boolean> = new Map([
  [POD_ASKS, (asksItself) => asksItself],
  [`!(${POD_ASKS})`, (asksItself) => !asksItself],
])

/**
 * Evaluates a webhook's matchConditions for a pod. `holds` is true if all expressions are true, and
 * false if any expression is false. Otherwise an expression is unknown, and `holds` is undefined.
 */
export function readMatchConditions(
  webhook: Fields,
  asksItself: boolean,
): { readonly holds: boolean | undefined; readonly names: string } {
  const conditions = listOrNone(webhook.matchConditions).map(fieldsOrNone)
  const answers = conditions.map(({ expression }) => {
    const text = (asText(expression) ?? '').replace(/\s+/g, ' ').trim()
    return KNOWN.get(text)?.(asksItself)
  })
  const holds = answers.includes(false) ? false : answers.includes(undefined) ? undefined : true
  return { holds, names: conditions.map(({ name }) => String(name)).join(', ') }
}
