import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { Test } from 'tap'
import { waitUntilEstablished } from '../established.ts'
import type { Cluster } from '../machine/cluster.ts'
import { isRunning, start, stop } from '../machine/daemon.ts'
import { kubectl } from '../machine/kubectl.ts'
import { moduleFolder, tools } from '../machine/tools.ts'
import { until } from '../until.ts'

const CERT_MANAGER = 'github.com/cert-manager/cert-manager'
const KINDS = ['certificates', 'certificaterequests', 'issuers', 'clusterissuers']

/**
 * Runs the real cert-manager beside a cluster until the test ends: its controllers and its CA
 * injector, without the webhook that validates Certificates. Removes the CustomResourceDefinitions
 * when the test ends.
 */
export async function startCertManager(t: Test, cluster: Cluster): Promise<void> {
  const program = join(await tools('cert-manager', () => {}), 'cert-manager')
  const definitions = join(await moduleFolder('cert-manager', CERT_MANAGER), 'deploy/crds')
  const files = ['-f', definitions]
  await kubectl(cluster, ['apply', '--server-side', ...files])
  t.teardown(() => kubectl(cluster, ['delete', '--ignore-not-found', ...files]))
  const established = KINDS.map((kind) => `crd/${kind}.cert-manager.io`)
  await waitUntilEstablished(cluster, established)
  const daemon = start(cluster.folder, program, [
    ...['-kubeconfig', cluster.kubeconfig],
    // These flags shorten the wait after a failed request.
    ...['-min-backoff', '1s', '-max-backoff', '10s'],
  ])
  t.teardown(() => stop(daemon))
  if (!isRunning(daemon)) throw new Error(`cert-manager ended; see its log in ${cluster.folder}`)
}

/** A certificate, identified by its Secret. In the chart, the Certificate has the same name. */
export interface Certificate {
  readonly namespace: string
  readonly name: string
}

/** Returns the certificate that cert-manager has issued last. */
export async function issued(
  cluster: Cluster,
  { namespace, name }: Certificate,
): Promise<X509Certificate> {
  const words = ['get', 'secret', name, '-n', namespace, '-o', 'jsonpath={.data.tls\\.crt}']
  return new X509Certificate(Buffer.from(await kubectl(cluster, words), 'base64'))
}

/** Makes cert-manager issue a certificate again, as `cmctl renew` does, and returns it. */
export async function renew(cluster: Cluster, certificate: Certificate): Promise<X509Certificate> {
  const { namespace, name } = certificate
  const before = await issued(cluster, certificate)
  const words = ['certificate', name, '-n', namespace]
  const { metadata, status } = JSON.parse(await kubectl(cluster, ['get', ...words, '-o', 'json']))
  const issuing = {
    type: 'Issuing',
    status: 'True',
    reason: 'ManuallyTriggered',
    message: 'requested by a test',
    lastTransitionTime: new Date().toISOString().replace(/\.\d+/, ''),
    observedGeneration: metadata.generation,
  }
  const patch = { status: { conditions: [...status.conditions, issuing] } }
  const options = ['--subresource=status', '--type=merge', '--patch', JSON.stringify(patch)]
  await kubectl(cluster, ['patch', ...words, ...options])
  await until(`${name} is issued again`, async () => {
    return (await issued(cluster, certificate)).serialNumber !== before.serialNumber
  })
  return issued(cluster, certificate)
}
