import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { makeAuthority } from '../../../certs/make.ts'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'

/**
 * Starts a mutating webhook that changes nothing, but delays the creation of pods, until the test
 * ends. It is called for pods in namespaces with the label `slow: yes`.
 *
 * @param name the name of the configuration, which determines when the webhook is called:
 * Kubernetes calls webhooks in the order of these names
 */
export async function startSlowWebhook(
  t: Test,
  cluster: Cluster,
  name: string,
  delayMs: number,
): Promise<void> {
  const authority = await makeAuthority()
  const { cert, key } = await authority.issue({ names: ['127.0.0.1'] })
  const server = createServer({ cert, key }, async (incoming, outgoing) => {
    const { apiVersion, kind, request } = JSON.parse(await text(incoming))
    await sleep(delayMs)
    outgoing.setHeader('content-type', 'application/json')
    const response = { uid: request.uid, allowed: true }
    outgoing.end(JSON.stringify({ apiVersion, kind, response }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const caBundle = Buffer.from(authority.ca).toString('base64')
  const webhook = {
    name: `${name}.example.com`,
    clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
    namespaceSelector: { matchLabels: { slow: 'yes' } },
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Ignore',
  }
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name },
    webhooks: [webhook],
  }
  t.teardown(async () => {
    await kubectl(cluster, ['delete', 'mutatingwebhookconfiguration', name])
    server.closeAllConnections()
    server.close()
  })
  await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(configuration))
}
