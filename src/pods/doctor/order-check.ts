import { KEYS } from '../../core/keys.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { nameFirst } from '../../core/text/name-first.ts'
import { check, type InstallationCheck } from './check.ts'
import type { Installation } from './installation.ts'

const NAME = 'order of webhooks'
/** The maximum number of configurations in a message. */
const MAX_NAMED = 5

/**
 * Checks which mutating webhooks for pods the apiserver calls before and after the release. It
 * calls configurations in the order of their names (kubernetes apiserver
 * pkg/admission/configuration/mutating_webhook_manager.go). If a webhook has changed the pod, it
 * calls earlier webhooks with the reinvocationPolicy IfNeeded again, but no webhook that it has not
 * called before (pkg/admission/plugin/webhook/mutating/dispatcher.go).
 *
 * @returns no check if the configuration of the release was not found or read
 */
export function orderCheck({
  configurations,
  webhook: { configuration },
}: Installation): readonly InstallationCheck[] {
  const own = 'value' in configuration ? nameOf(configuration.value) : undefined
  if (own === undefined) return []
  if ('problem' in configurations) return [check(NAME, 'unknown', configurations.problem)]
  const others = configurations.value.filter((other) => podWebhooks(other).length > 0)
  const later = joinNames(others.filter((other) => (nameOf(other) ?? '') > own))
  const blind = others.filter((other) => (nameOf(other) ?? '') < own && isCalledOnce(other))
  const looks = [
    ...(later === '' ? [] : [`after ${own}, ${NOT_SEEN}: ${later}`]),
    ...(blind.length === 0 ? [] : [`before ${own}, ${NOT_CHANGED}: ${joinNames(blind)}`]),
  ]
  if (looks.length > 0) return [check(NAME, 'look', `called ${looks.join('; called ')}`)]
  const sentence =
    others.length === 0
      ? 'no other mutating webhook is called for pods'
      : `${own} is called after the other mutating webhooks for pods, which are called again`
  return [check(NAME, 'ok', sentence)]
}

const NOT_SEEN = `which does not see the annotation ${KEYS.inject} if they add it`
const NOT_CHANGED = 'and not again (reinvocationPolicy Never), so they do not change observers'

/** The webhooks of a configuration that are called for new pods, without those of Ridealong. */
function podWebhooks({ webhooks }: Fields): readonly Fields[] {
  return listOrNone(webhooks)
    .map(fieldsOrNone)
    .filter(({ name, rules }) => {
      const isOurs = asText(name)?.endsWith('.ridealong.dev') === true
      return !isOurs && listOrNone(rules).map(fieldsOrNone).some(selectsNewPods)
    })
}

/** Matches as the apiserver does (pkg/admission/plugin/webhook/predicates/rules/rules.go). */
function selectsNewPods({ apiGroups, apiVersions, operations, resources, scope }: Fields): boolean {
  const has = (list: unknown, ...values: readonly string[]) =>
    listOrNone(list).some((value) => value === '*' || values.includes(String(value)))
  return (
    has(apiGroups, '') &&
    has(apiVersions, 'v1') &&
    has(operations, 'CREATE') &&
    has(resources, 'pods', 'pods/*', '*/*') &&
    scope !== 'Cluster'
  )
}

/** Without a reinvocationPolicy, the apiserver uses Never. */
function isCalledOnce(configuration: Fields): boolean {
  return podWebhooks(configuration).some(
    ({ reinvocationPolicy }) => reinvocationPolicy !== 'IfNeeded',
  )
}

function joinNames(configurations: readonly Fields[]): string {
  return nameFirst(
    configurations.map((one) => nameOf(one) ?? ''),
    MAX_NAMED,
  )
}

function nameOf(configuration: Fields | undefined): string | undefined {
  return asText(fieldsOrNone(configuration?.metadata).name)
}
