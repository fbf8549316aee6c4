import { ARMED_LABEL } from '../../core/keys.ts'
import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { relabel } from '../../core/namespaces/arm-namespace.ts'
import { readNamespace } from '../../core/namespaces/namespace.ts'
import { readRevision } from '../../core/namespaces/revision.ts'
import { requestsMetrics } from '../../core/request.ts'
import { nameFirst } from '../../core/text/name-first.ts'
import { unmetIn } from '../explain/selector.ts'
import { ARMED_WEBHOOK, webhookIn } from '../explain/webhook.ts'
import { check, fault, type InstallationCheck } from './check.ts'
import type { Installation } from './installation.ts'

const NAME = 'namespaces'
const REMEDY =
  'wait a few minutes until a running server repairs the label ridealong.dev/armed;' +
  ' if arming.repair is false, annotate the namespace again'
/** The maximum number of names in a message. */
const MAX_NAMED = 5

/**
 * Checks that each namespace of the release is armed (has the label `ridealong.dev/armed=true`) if
 * its annotations request observers, and not armed otherwise. A namespace that the chart excludes
 * must not be armed.
 */
export function namespaceCheck({ namespaces, webhook }: Installation): InstallationCheck {
  if ('problem' in namespaces) return check(NAME, 'unknown', namespaces.problem)
  const { configuration } = webhook
  const found = 'value' in configuration ? configuration.value : undefined
  const own = namespaces.value.filter((one) => readRevision(one) === readRevision(found))
  const states = own.map((namespace) => readState(namespace, found))
  const asking = states.filter(({ isAsking }) => isAsking)
  const unarmed = joinNames(asking.filter(({ isRight }) => !isRight))
  const stale = joinNames(states.filter(({ isRight, isAsking }) => !isRight && !isAsking))
  const problems = [
    ...(unarmed === '' ? [] : [`not armed although they request observers: ${unarmed}`]),
    ...(stale === '' ? [] : [`armed although they are excluded or request no observers: ${stale}`]),
  ]
  if (problems.length > 0) return fault(NAME, problems.join('; '), REMEDY)
  const sentence = `${asking.length} of ${states.length} request observers, and these are armed`
  return check(NAME, 'ok', sentence)
}

interface ArmingState {
  readonly name: string
  readonly isAsking: boolean
  /** Whether the label `ridealong.dev/armed` agrees with `isAsking`. */
  readonly isRight: boolean
}

function readState(namespace: Fields, configuration: Fields | undefined): ArmingState {
  const name = asText(fieldsOrNone(namespace.metadata).name) ?? ''
  const { annotations } = readNamespace(name, namespace)
  const isAsking = requestsMetrics(annotations) && !isExcluded(namespace, configuration)
  return { name, isAsking, isRight: relabel(namespace, isAsking).length === 0 }
}

/**
 * Reports whether the chart excludes a namespace. The namespaceSelector of the webhook for armed
 * namespaces lists the excluded namespaces.
 */
function isExcluded({ metadata }: Fields, configuration: Fields | undefined): boolean {
  const webhook = configuration && webhookIn(configuration, ARMED_WEBHOOK)
  const labels = { ...fieldsOrNone(fieldsOrNone(metadata).labels), [ARMED_LABEL]: 'true' }
  return unmetIn(webhook?.namespaceSelector, labels) !== undefined
}

function joinNames(states: readonly ArmingState[]): string {
  return nameFirst(
    states.map(({ name }) => name),
    MAX_NAMED,
  )
}
