import { asText, type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'

/**
 * The names of the webhooks in the chart's configuration: for pods with the annotation
 * `ridealong.dev/inject`, for pods without it in namespaces that request observers, for Namespaces,
 * and for pods in namespaces that were just moved to another release.
 */
export const POD_WEBHOOK = 'pods.ridealong.dev'
export const ARMED_WEBHOOK = 'armed.ridealong.dev'
export const NAMESPACE_WEBHOOK = 'namespaces.ridealong.dev'
export const MOVED_WEBHOOK = 'moved.ridealong.dev'

/** Finds a webhook of a MutatingWebhookConfiguration by its name. */
export function webhookIn(configuration: Fields, name: string): Fields | undefined {
  return listOrNone(configuration.webhooks)
    .map(fieldsOrNone)
    .find((webhook) => webhook.name === name)
}

/** Reports whether a MutatingWebhookConfiguration is that of a release of Ridealong. */
export function isRelease(configuration: Fields): boolean {
  return webhookIn(configuration, POD_WEBHOOK) !== undefined
}

/**
 * Reads the CA bundle with which the apiserver verifies the server, as PEM. The result is empty if
 * the webhook has no bundle.
 */
export function readCaBundle(webhook: Fields): string {
  const bundle = asText(fieldsOrNone(webhook.clientConfig).caBundle) ?? ''
  return Buffer.from(bundle, 'base64').toString()
}

/** The address that the apiserver calls: a Service, or a URL. */
export interface Called {
  readonly service: { readonly name: string; readonly namespace: string } | undefined
  readonly url: string | undefined
}

export function calledBy(webhook: Fields): Called {
  const { service, url } = fieldsOrNone(webhook.clientConfig)
  const { name, namespace } = fieldsOrNone(service)
  const isService = typeof name === 'string' && typeof namespace === 'string'
  return { service: isService ? { name, namespace } : undefined, url: asText(url) }
}

/**
 * Returns the DNS name that the server's certificate must be valid for; undefined if the webhook
 * has no address, or an IP address.
 */
export function serverName({ service, url }: Called): string | undefined {
  if (service !== undefined) return `${service.name}.${service.namespace}.svc`
  const host = url === undefined ? '' : new URL(url).hostname
  return /^[\d.]+$|^\[/.test(host) || host === '' ? undefined : host
}
