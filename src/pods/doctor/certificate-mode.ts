import { asText, type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { certificatesIn } from '../explain/certificate.ts'
import { readCaBundle } from '../explain/webhook.ts'
import { check, fault, type InstallationCheck } from './check.ts'
import { type Installation, servedOption } from './installation.ts'

const NAME = 'certificate mode'

/** The subject of the CAs that the webhook makes (certs/own/make-pair.ts). */
const OWN_AUTHORITY = 'CN=Ridealong own CA'

/** The annotation with which cert-manager's cainjector finds the CA. */
const INJECT_FROM = 'cert-manager.io/inject-ca-from'

/**
 * Reports who makes the server's certificate (`certificates.mode` of the chart). If the webhook
 * makes it, also checks that every webhook has the same caBundle, with only the webhook's own CAs.
 */
export function certificateModeCheck({
  webhook,
  release,
}: Installation): readonly InstallationCheck[] {
  const { configuration } = webhook
  const found = 'value' in configuration ? configuration.value : undefined
  if (found === undefined || release === undefined || 'problem' in release.deployment) return []
  const secret = servedOption(release, '--own-certificate')
  if (secret !== undefined) return [ownCheck(found, secret)]
  const annotations = fieldsOrNone(fieldsOrNone(found.metadata).annotations)
  const certificate = asText(annotations[INJECT_FROM])
  const sentence =
    certificate === undefined
      ? 'provided: an administrator renews the certificate and sets caBundle'
      : `cert-manager: it renews Certificate ${certificate} and writes caBundle`
  return [check(NAME, 'ok', sentence)]
}

function ownCheck(configuration: Fields, secret: string): InstallationCheck {
  const webhooks = listOrNone(configuration.webhooks).map(fieldsOrNone)
  const [first = '', ...others] = webhooks.map(readCaBundle)
  if (others.some((bundle) => bundle !== first)) {
    const remedy = 'read the log of the webhook, which writes caBundle within seconds'
    return fault(NAME, 'self: the webhooks of the configuration have different caBundles', remedy)
  }
  const authorities = certificatesIn(first) ?? []
  const foreign = authorities.filter(({ subject }) => subject !== OWN_AUTHORITY)
  const kept = `self: the webhook keeps the certificate in Secret ${secret}`
  if (foreign.length === 0)
    return check(NAME, 'ok', `${kept}; caBundle has ${authorities.length} of its CAs`)
  const count = foreign.length === 1 ? '1 CA' : `${foreign.length} CAs`
  const remedy = 'docs/administer/upgrade.md says how to remove such CAs'
  return check(
    NAME,
    'look',
    `${kept}, but caBundle also trusts ${count} that it did not make; ${remedy}`,
  )
}
