import { asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'

/** The webhooks of the chart's configuration that are called for pods: for one that asks itself, and for one whose namespace does. */
export const POD_WEBHOOK = 'pods.ridealong.dev'
export const ARMED_WEBHOOK = 'armed.ridealong.dev'
export const NAMESPACE_WEBHOOK = 'namespaces.ridealong.dev'

/** A webhook of a MutatingWebhookConfiguration, by its name. */
export function webhookIn(configuration: Fields, name: string): Fields | undefined {
  return listOrNone(configuration.webhooks)
    .map(fieldsOrNone)
    .find((webhook) => webhook.name === name)
}

/** The CA that the apiserver verifies the server with, as PEM; empty where the configuration has none. */
export function readCaBundle(webhook: Fields): string {
  const bundle = asText(fieldsOrNone(webhook.clientConfig).caBundle) ?? ''
  return Buffer.from(bundle, 'base64').toString()
}

/** Where the apiserver calls: a Service, or else a URL. */
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

/** The name that the certificate must be for. */
export function serverName({ service, url }: Called): string | undefined {
  if (service !== undefined) return `${service.name}.${service.namespace}.svc`
  const host = url === undefined ? '' : new URL(url).hostname
  return /^[\d.]+$|^\[/.test(host) || host === '' ? undefined : host
}
