import { readFile } from 'node:fs/promises'
import { connect } from 'node:tls'
import { WEBHOOK_CONFIGURATIONS } from '../../src/cluster/paths.ts'
import {
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../src/core/kubernetes/json.ts'
import { nameRevision, readRevision } from '../../src/core/namespaces/revision.ts'
import { errorMessage } from '../../src/lib/error-message.ts'
import { deploymentOption } from '../../src/pods/doctor/installation.ts'
import type { FactLookup, WebhookFacts } from '../../src/pods/explain/facts.ts'
import { calledBy, isRelease, POD_WEBHOOK, webhookIn } from '../../src/pods/explain/webhook.ts'
import { listed, type Reader } from './reader.ts'

const PATIENCE_MS = 5_000

type Service = NonNullable<ReturnType<typeof calledBy>['service']>

/**
 * Reads the facts about the webhook that the caller's permissions allow.
 *
 * @param which the MutatingWebhookConfiguration
 * @param certificate a file with the server's certificate, PEM; default: the certificate in the
 * Secret that the Deployment mounts, or the certificate that the server presents if the webhook is
 * called by URL
 */
export async function readWebhookFacts(
  reader: Reader,
  which: ConfigurationChoice,
  certificate?: string,
): Promise<WebhookFacts> {
  const now = Date.now()
  const isListed = which.name === undefined
  const list = isListed ? (which.list ?? (await listConfigurations(reader))) : undefined
  const configuration = await readConfiguration(reader, { ...which, list })
  const found = 'value' in configuration ? configuration.value : undefined
  const webhook = found && webhookIn(found, POD_WEBHOOK)
  const { service, url } = webhook ? calledBy(webhook) : { service: undefined, url: undefined }
  const serving = await readServing(reader, { service, url, certificate })
  const ready = service ? await countReady(reader, service) : { value: undefined }
  const revisions = list && 'value' in list ? list.value.filter(isRelease).map(nameOf) : undefined
  return { now, configuration, revisions, serving, ready }
}

interface Serving {
  readonly service: Service | undefined
  readonly url: string | undefined
  readonly certificate: string | undefined
}

async function readServing(
  reader: Reader,
  { service, url, certificate }: Serving,
): Promise<FactLookup<string>> {
  if (certificate !== undefined) return readCertificate(certificate)
  if (service !== undefined) return readSecret(reader, service)
  return shownAt(url ?? '').catch((error) => ({ problem: errorMessage(error) }))
}

async function readCertificate(file: string): Promise<FactLookup<string>> {
  try {
    return { value: await readFile(file, 'utf8') }
  } catch (error) {
    return { problem: errorMessage(error) }
  }
}

/** Selects the MutatingWebhookConfiguration of a release. */
export interface ConfigurationChoice {
  readonly name?: string | undefined
  /** The revision of the release, if there is no name; undefined for the default release. */
  readonly revision?: string | undefined
  /** Whether the release must have exactly this revision. */
  readonly isExact?: boolean | undefined
  /** The result of `listConfigurations`, if it was called before. */
  readonly list?: FactLookup<readonly Fields[]> | undefined
}

/**
 * Reads the MutatingWebhookConfiguration of a release. If the default release is chosen and does
 * not exist, returns the first configuration of another release, unless `isExact` is true.
 */
export async function readConfiguration(
  reader: Reader,
  { name, revision, isExact = false, list: given }: ConfigurationChoice,
): Promise<FactLookup<Fields | undefined>> {
  if (name !== undefined)
    return reader.look(`${WEBHOOK_CONFIGURATIONS}/${encodeURIComponent(name)}`)
  const list = given ?? (await listConfigurations(reader))
  if ('problem' in list) return list
  const releases = list.value.filter(isRelease)
  const found = releases.find((one) => readRevision(one) === revision)
  const isAny = revision === undefined && !isExact
  return { value: found ?? (isAny ? releases[0] : undefined) }
}

function nameOf(configuration: Fields): string {
  return nameRevision(readRevision(configuration))
}

/** Lists all MutatingWebhookConfigurations of the cluster. */
export async function listConfigurations(reader: Reader): Promise<FactLookup<readonly Fields[]>> {
  return listed(await reader.look(WEBHOOK_CONFIGURATIONS))
}

/**
 * Reads the server's certificate from its Secret. The Deployment that has the Service's name mounts
 * the Secret as the volume `tls`, or names it in the option `--own-certificate`.
 */
async function readSecret(
  reader: Reader,
  { name, namespace }: Service,
): Promise<FactLookup<string>> {
  const of = (kind: string) => `/namespaces/${namespace}/${kind}`
  const deployment = await reader.look(`/apis/apps/v1${of('deployments')}/${name}`)
  if ('problem' in deployment) return deployment
  const secretName = ownSecret(deployment.value) ?? mountedSecret(deployment.value)
  if (secretName === undefined)
    return {
      problem: `there is no Deployment ${name} that mounts or names a Secret with a certificate`,
    }
  const secret = await reader.look(`/api/v1${of('secrets')}/${secretName}`)
  if ('problem' in secret) return secret
  const certificate = asText(fieldsOrNone(secret.value?.data)['tls.crt'])
  return certificate === undefined
    ? { problem: `Secret ${secretName} has no tls.crt` }
    : { value: Buffer.from(certificate, 'base64').toString() }
}

/** Returns the name in `--own-certificate=NAMESPACE/NAME`, without the namespace. */
function ownSecret(deployment: Fields | undefined): string | undefined {
  return deploymentOption(deployment, '--own-certificate')?.split('/')[1]
}

function mountedSecret(deployment: Fields | undefined): string | undefined {
  const template = fieldsOrNone(fieldsOrNone(deployment?.spec).template)
  const volumes = listOrNone(fieldsOrNone(template.spec).volumes).map(fieldsOrNone)
  const volume = volumes.find((one) => one.name === 'tls')
  return asText(fieldsOrNone(volume?.secret).secretName)
}

async function countReady(
  reader: Reader,
  { name, namespace }: Service,
): Promise<FactLookup<number | undefined>> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`
  const slices = await reader.look(path)
  if ('problem' in slices) return slices
  const ours = asObjects(slices.value?.items).filter(({ metadata }) => {
    return fieldsOrNone(fieldsOrNone(metadata).labels)['kubernetes.io/service-name'] === name
  })
  const endpoints = ours.flatMap((slice) => listOrNone(slice.endpoints).map(fieldsOrNone))
  return {
    value: endpoints.filter(({ conditions }) => fieldsOrNone(conditions).ready !== false).length,
  }
}

/** Returns the certificates that a server presents, without verifying them. */
function shownAt(url: string): Promise<FactLookup<string>> {
  if (!URL.canParse(url))
    return Promise.resolve({
      problem: 'the webhook configuration has neither a Service nor a valid URL',
    })
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    // No data is sent. `explain` and `doctor` verify the certificates later.
    const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false })
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error(`${url} does not answer`)))
    socket.on('error', reject)
    socket.on('secureConnect', () => {
      const shown = socket.getPeerX509Certificate()
      const chain = []
      for (let one = shown; one !== undefined && chain.length < 8; one = one.issuerCertificate)
        chain.push(one)
      socket.destroy()
      resolve({ value: chain.map(String).join('\n') })
    })
  })
}
