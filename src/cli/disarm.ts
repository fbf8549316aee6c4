import { ApiException, KubernetesObjectApi } from '@kubernetes/client-node'
import { UsageError } from './errors.ts'
import { readKubeConfig, refusalOf } from './kubeconfig.ts'
import { removeLabels } from './remove-labels.ts'

export interface DisarmOptions {
  readonly kubeconfig?: string | undefined
  readonly webhookConfiguration?: string | undefined
  readonly clusterRoleBinding?: string | undefined
  readonly namespace?: string | undefined
  readonly certificate?: readonly string[] | undefined
}

interface Named {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/**
 * `ridealong disarm`: takes away what would outlive an installation, in the order in which nothing
 * comes back. First the webhook configuration, so that no pod is asked about; then the right to set
 * the label; then the label; then each Certificate before its Secret, which would be issued again.
 * What is gone already is no trouble.
 *
 * @throws UsageError with the apiserver's own sentence on what it did not remove
 */
export async function disarm(options: DisarmOptions, print: (text: string) => void): Promise<void> {
  if (options.certificate !== undefined && options.namespace === undefined) {
    throw new UsageError('--certificate needs --namespace, where the certificates are')
  }
  const config = readKubeConfig(options.kubeconfig)
  const api = KubernetesObjectApi.makeApiClient(config)
  for (const object of callers(options)) print(await remove(api, object))
  await removeLabels(config, print)
  for (const object of certificates(options)) print(await remove(api, object))
}

function callers({ webhookConfiguration, clusterRoleBinding }: DisarmOptions): readonly Named[] {
  const named = (apiVersion: string, kind: string, name: string | undefined) =>
    name === undefined ? [] : [{ apiVersion, kind, metadata: { name } }]
  const admission = 'admissionregistration.k8s.io/v1'
  return [
    ...named(admission, 'MutatingWebhookConfiguration', webhookConfiguration),
    ...named('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', clusterRoleBinding),
  ]
}

/** cert-manager does not own its Secrets, unless it was started with --enable-certificate-owner-ref. */
function certificates({ certificate = [], namespace = '' }: DisarmOptions): readonly Named[] {
  return certificate.flatMap((name) => [
    { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata: { name, namespace } },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace } },
  ])
}

/** @returns a line that says what became of it */
async function remove(api: KubernetesObjectApi, object: Named): Promise<string> {
  const name = `${object.kind} ${object.metadata.name}`
  try {
    await api.delete(object)
    return `${name}: removed\n`
  } catch (error) {
    // Of a kind that the cluster does not know there is nothing to remove either.
    if (error instanceof ApiException && error.code === 404) return `${name}: not there\n`
    throw new UsageError(`${name} stays: ${refusalOf(error)}`)
  }
}
