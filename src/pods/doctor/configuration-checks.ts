import { asText, type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { authorityExpiry, bundleProblem, expiry, servingProblem } from '../explain/certificate.ts'
import type { FactLookup, WebhookFacts } from '../explain/facts.ts'
import {
  ARMED_WEBHOOK,
  type Called,
  calledBy,
  MOVED_WEBHOOK,
  NAMESPACE_WEBHOOK,
  POD_WEBHOOK,
  readCaBundle,
  serverName,
  webhookIn,
} from '../explain/webhook.ts'
import { check, fault, type InstallationCheck, RESTORE } from './check.ts'

const WEBHOOKS = [POD_WEBHOOK, ARMED_WEBHOOK, NAMESPACE_WEBHOOK, MOVED_WEBHOOK]

/**
 * A certificate that expires within this number of days is a fault. The chart's alert uses the same
 * number (RidealongCertificateEnds in charts/ridealong/templates/prometheus-rule.yaml).
 */
const DAYS_TO_RENEW = 7
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const REPAIR_CA =
  'with cert-manager, check that its cainjector is running and that the issuer writes ca.crt;' +
  ' if the webhook makes the certificate, read its log;' +
  ' otherwise set certificates.provided.caBundle to the CA of the certificate'
const RENEW =
  'find out why the certificate was not renewed (with cert-manager: kubectl describe certificate;' +
  ' if the webhook makes the certificate: its log)'

/**
 * Checks the webhook configuration: the Service or URL that the apiserver calls, the CA that
 * verifies the server's certificate, the certificate itself, and the failurePolicy.
 *
 * @param duration the lifetime of a certificate that the webhook makes itself, such as 2160h;
 * undefined if it does not
 */
export function configurationChecks(
  { now, configuration, serving }: WebhookFacts,
  duration?: string,
): readonly InstallationCheck[] {
  const name = 'webhook configuration'
  if ('problem' in configuration) return [check(name, 'unknown', configuration.problem)]
  const found = configuration.value
  if (found === undefined) {
    const missing = `no MutatingWebhookConfiguration has ${POD_WEBHOOK}`
    const remedy = 'install the chart (docs/install.md)'
    return [fault(name, `${missing}: Ridealong is not installed`, remedy)]
  }
  const webhook = webhookIn(found, POD_WEBHOOK) ?? {}
  return [
    presence(name, found, calledBy(webhook)),
    ...trustChecks(webhook, serving, { now, leastMs: resolveLeast(duration) }),
    policyCheck(found),
  ]
}

function presence(name: string, configuration: Fields, called: Called): InstallationCheck {
  const missing = WEBHOOKS.filter((word) => webhookIn(configuration, word) === undefined)
  const metadata = fieldsOrNone(configuration.metadata)
  const title = asText(metadata.name) ?? ''
  if (missing.length > 0) {
    const without = `has no webhook ${missing.join(', ')}`
    return fault(name, `MutatingWebhookConfiguration ${title} ${without}`, RESTORE)
  }
  return check(
    name,
    'ok',
    `${title} calls ${describeCallee(called)}${describeRelease(fieldsOrNone(metadata.labels))}`,
  )
}

/** Describes the address that a webhook calls. */
export function describeCallee({ service, url }: Called): string {
  if (service === undefined) return url ?? 'no address'
  return `Service ${service.namespace}/${service.name}`
}

function describeRelease(labels: Fields): string {
  const release = asText(labels['app.kubernetes.io/instance'])
  const version = asText(labels['app.kubernetes.io/version'])
  return release === undefined ? '' : ` (release ${release}, version ${version ?? 'unknown'})`
}

interface Times {
  /** Milliseconds since 1970. */
  readonly now: number
  /** A certificate that expires within this time is a fault, in milliseconds. */
  readonly leastMs: number
}

/**
 * The webhook renews its own certificate when half of its lifetime remains. If less than a quarter
 * remains, the renewal has failed, even if the lifetime is only a few days.
 */
function resolveLeast(duration: string | undefined): number {
  const [, count, unit] = /^(\d+)([hm])$/.exec(duration ?? '') ?? []
  if (count === undefined) return DAYS_TO_RENEW * DAY_MS
  const lifetimeMs = Number(count) * (unit === 'h' ? HOUR_MS : HOUR_MS / 60)
  return Math.min(DAYS_TO_RENEW * DAY_MS, lifetimeMs / 4)
}

function trustChecks(
  webhook: Fields,
  serving: FactLookup<string>,
  times: Times,
): readonly InstallationCheck[] {
  const { now } = times
  const bundle = readCaBundle(webhook)
  const presented = 'problem' in serving ? '' : serving.value
  const problem = bundleProblem(bundle, now)
  const authority =
    problem === undefined
      ? endCheck('CA', 'the CA in caBundle', authorityExpiry(bundle, presented), times)
      : fault('CA', problem, REPAIR_CA)
  if ('problem' in serving) return [authority, check('certificate', 'unknown', serving.problem)]
  const wrong = servingProblem(bundle, serving.value, serverName(calledBy(webhook)), now)
  if (wrong !== undefined) return [authority, fault('certificate', wrong, REPAIR_CA)]
  const verified = 'the certificate is verified by caBundle and'
  return [authority, endCheck('certificate', verified, expiry(serving.value), times)]
}

function endCheck(
  name: string,
  what: string,
  end: number,
  { now, leastMs }: Times,
): InstallationCheck {
  const sentence = `${what} is valid until ${new Date(end).toISOString()}`
  return end - now < leastMs
    ? fault(name, `${sentence}, less than ${describeTime(leastMs)} from now`, RENEW)
    : check(name, 'ok', sentence)
}

function describeTime(ms: number): string {
  if (ms >= DAY_MS) return `${Math.floor(ms / DAY_MS)} days`
  return ms >= HOUR_MS ? `${Math.floor(ms / HOUR_MS)} hours` : `${Math.ceil(ms / 60_000)} minutes`
}

function policyCheck(configuration: Fields): InstallationCheck {
  const webhooks = listOrNone(configuration.webhooks).map(fieldsOrNone)
  const strict = webhooks.filter(({ failurePolicy }) => failurePolicy !== 'Ignore')
  const names = strict.map(({ name }) => String(name)).join(', ')
  if (strict.length > 0) {
    return fault('failurePolicy', `Fail: if ${names} does not answer, objects are refused`, RESTORE)
  }
  const longest = Math.max(...webhooks.map(({ timeoutSeconds }) => Number(timeoutSeconds)))
  return check(
    'failurePolicy',
    'ok',
    `Ignore: objects are admitted unchanged if there is no answer within ${longest} s`,
  )
}
