import { generateKeyPairSync } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeAuthority } from '../../../certs/make.ts'

/**
 * The clients of the apiserver, as user and group (Kubernetes docs,
 * setup/best-practices/certificates).
 */
const CLIENTS = {
  admin: 'O=system:masters, CN=admin',
  'controller-manager': 'CN=system:kube-controller-manager',
  scheduler: 'CN=system:kube-scheduler',
  proxy: 'CN=system:kube-proxy',
  kubelet: 'O=system:nodes, CN=system:node:localhost',
} as const

export type Client = keyof typeof CLIENTS

/**
 * Writes the keys and certificates of a cluster: ca.crt, apiserver.crt and .key, sa.key and sa.pub,
 * for each client NAME.crt, NAME.key and NAME.kubeconfig, and the client certificate that the
 * apiserver shows to webhooks.
 *
 * @param server the URL of the apiserver
 * @param addresses the addresses of the apiserver, for its certificate
 */
export async function writeCredentials(
  folder: string,
  server: string,
  addresses: readonly string[],
): Promise<void> {
  await mkdir(folder, { recursive: true })
  const authority = await makeAuthority()
  const put = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o600 })
  await put('ca.crt', authority.ca)
  const names = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc']
  const pair = await authority.issue({ names: [...names, ...addresses] })
  await put('apiserver.crt', pair.cert)
  await put('apiserver.key', pair.key)
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await put('sa.key', `${privateKey.export({ type: 'sec1', format: 'pem' })}`)
  await put('sa.pub', `${publicKey.export({ type: 'spki', format: 'pem' })}`)
  for (const [name, subject] of Object.entries(CLIENTS)) {
    const client = await authority.issue({ subject, names: [] })
    await put(`${name}.crt`, client.cert)
    await put(`${name}.key`, client.key)
    await put(`${name}.kubeconfig`, kubeconfig(authority.ca, client, server))
  }
  await writeAdmission(folder)
}

/**
 * Writes admission.json, which makes the apiserver show a client certificate to every webhook that
 * requests one. Also writes callers.crt, the authority of that certificate (Kubernetes docs,
 * access-authn-authz/extensible-admission-controllers, "Authenticate API servers").
 */
async function writeAdmission(folder: string): Promise<void> {
  const authority = await makeAuthority()
  const { cert, key } = await authority.issue({ subject: 'CN=kube-apiserver', names: [] })
  const put = (name: string, object: object) => {
    return writeFile(join(folder, name), JSON.stringify(object, undefined, 2), { mode: 0o600 })
  }
  const user = {
    'client-certificate-data': Buffer.from(cert).toString('base64'),
    'client-key-data': Buffer.from(key).toString('base64'),
  }
  const kubeConfigFile = join(folder, 'callers.kubeconfig')
  await writeFile(join(folder, 'callers.crt'), authority.ca)
  await put('callers.kubeconfig', {
    apiVersion: 'v1',
    kind: 'Config',
    users: [{ name: '*', user }],
  })
  const apiVersion = 'apiserver.config.k8s.io/v1'
  await put('admission.json', {
    apiVersion,
    kind: 'AdmissionConfiguration',
    plugins: [
      {
        name: 'MutatingAdmissionWebhook',
        configuration: { apiVersion, kind: 'WebhookAdmissionConfiguration', kubeConfigFile },
      },
    ],
  })
}

interface KeyPair {
  readonly cert: string
  readonly key: string
}

/** Returns a kubeconfig as JSON, which is also valid YAML. */
function kubeconfig(ca: string, { cert, key }: KeyPair, server: string): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const cluster = { server, 'certificate-authority-data': base64(ca) }
  const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) }
  const name = 'ridealong-test'
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  }
  return `${JSON.stringify(config, undefined, 2)}\n`
}
