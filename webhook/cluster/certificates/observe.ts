import { type Bundle, readBundle } from '../../../certs/own/bundle.ts'
import type { OwnPair } from '../../../certs/own/own-pair.ts'
import { readOwnPair, type StoredPair } from '../../../certs/own/read-pair.ts'
import { isMissing } from '../../../src/cluster/api-error.ts'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { WEBHOOK_CONFIGURATIONS } from '../../../src/cluster/paths.ts'
import { asObjects, asText, type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'

/** The objects that contain the webhook's own certificates. */
export interface CertificateObjects {
  /** The Secret, as `NAMESPACE/NAME`. */
  readonly secret: string
  /** The name of the MutatingWebhookConfiguration. */
  readonly webhookConfiguration: string
  /** The DNS names for which the certificate must be valid. */
  readonly names: readonly string[]
}

/** An object of the apiserver; undefined if it does not exist. */
type FoundObject = Fields | undefined

/** The state of the objects when they were read. */
export interface Observation {
  readonly secret: FoundObject
  readonly configuration: FoundObject
  /** The pair that the servers use. */
  readonly current: StoredPair
  /** The pair that the servers will use next. */
  readonly next: StoredPair
  /** The caBundle of each webhook; undefined if there is no configuration. */
  readonly bundles: readonly Bundle[] | undefined
}

/**
 * The keys of the Secret. The keys of the current pair are those of cert-manager, so that other
 * programs can read the certificate.
 */
export const CURRENT_KEYS: OwnPair = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' }
export const NEXT_KEYS: OwnPair = { cert: 'next-tls.crt', key: 'next-tls.key', ca: 'next-ca.crt' }

/** Returns the path of a Secret that is named as `NAMESPACE/NAME`. */
export function secretPath(secret: string): string {
  const [namespace, name] = secret.split('/')
  return `/api/v1/namespaces/${namespace}/secrets/${name}`
}

/** Returns the path of a MutatingWebhookConfiguration. */
export function configurationPath(name: string): string {
  return `${WEBHOOK_CONFIGURATIONS}/${encodeURIComponent(name)}`
}

/**
 * Reads the Secret, and then the webhook configuration. The order matters: if the Secret contains a
 * certificate that replaced another one, the configuration that is read afterwards contains its CA.
 *
 * @throws ApiError, except for an object that does not exist, or a network error
 */
export async function observe(
  api: Apiserver,
  { secret: path, webhookConfiguration, names }: CertificateObjects,
  signal: AbortSignal,
): Promise<Observation> {
  const secret = await find(api, secretPath(path), signal)
  const configuration = await find(api, configurationPath(webhookConfiguration), signal)
  const data = fieldsOrNone(secret?.data)
  const read = (keys: OwnPair) => {
    const sources = mapPair(keys, (key) => `${key} of Secret ${path}`)
    return readOwnPair(
      mapPair(keys, (key) => decode(data[key])),
      { names, sources },
    )
  }
  return {
    secret,
    configuration,
    current: read(CURRENT_KEYS),
    next: read(NEXT_KEYS),
    bundles: configuration && asObjects(configuration.webhooks).map(bundleOf),
  }
}

/** Applies a function to each part of a pair. */
export function mapPair({ cert, key, ca }: OwnPair, convert: (text: string) => string): OwnPair {
  return { cert: convert(cert), key: convert(key), ca: convert(ca) }
}

async function find(api: Apiserver, path: string, signal: AbortSignal): Promise<FoundObject> {
  try {
    return await api.ask({ path, signal })
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function bundleOf({ clientConfig }: Fields): Bundle {
  return readBundle(decode(fieldsOrNone(clientConfig).caBundle))
}

function decode(value: unknown): string {
  return Buffer.from(asText(value) ?? '', 'base64').toString()
}
