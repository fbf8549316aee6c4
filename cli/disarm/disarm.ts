import type { ClusterName } from '../../src/cluster/access.ts'
import { describeApiError, isMissing } from '../../src/cluster/api-error.ts'
import { type Apiserver, REQUEST_TIMEOUT_MS } from '../../src/cluster/apiserver.ts'
import { WEBHOOK_CONFIGURATIONS } from '../../src/cluster/paths.ts'
import { MOVED_FROM_LABEL } from '../../src/core/keys.ts'
import { nameRevision } from '../../src/core/namespaces/revision.ts'
import { pause } from '../../src/lib/pause.ts'
import { UsageError } from '../shared/errors.ts'
import { openCluster } from '../shared/open-cluster.ts'
import type { Session } from '../shared/session.ts'
import { listNamespaces } from './list-namespaces.ts'
import { removeLabels } from './remove-labels.ts'

export interface DisarmOptions extends ClusterName {
  readonly webhookConfiguration?: string | undefined
  /** The revision of the release; undefined for the default release. */
  readonly revision?: string | undefined
  readonly clusterRoleBinding?: string | undefined
  readonly namespace?: string | undefined
  readonly certificate?: readonly string[] | undefined
  readonly secret?: readonly string[] | undefined
}

interface DisarmTarget {
  readonly kind: string
  /** The API path of the objects of this kind. */
  readonly root: string
  readonly name: string
}

/**
 * Runs `ridealong disarm`: removes the objects that would outlive an installation. The order
 * prevents an object from being created again:
 *
 * 1. the webhook configuration, so that the webhook is no longer called. If a namespace was just
 *    moved to another release, this step first waits until the move is over
 * 2. the permission of the webhook to set the label `ridealong.dev/armed`
 * 3. this label of all namespaces of the release
 * 4. each Certificate, and then its Secret, which cert-manager would otherwise create again
 * 5. each other Secret; the webhook creates its Secret only while its configuration exists
 *
 * An object that does not exist is not an error.
 *
 * @throws UsageError with the apiserver's message about an object that was not removed
 */
export async function disarm(
  options: DisarmOptions,
  { environment, printLine: print }: Session,
): Promise<void> {
  const { certificate, secret, namespace, webhookConfiguration, revision } = options
  if ((certificate ?? secret) !== undefined && namespace === undefined) {
    throw new UsageError(
      '--certificate and --secret need --namespace, the namespace of the certificates',
    )
  }
  const { apiserver } = await openCluster(options, environment)
  if (webhookConfiguration !== undefined) await awaitMoves(apiserver, revision, print)
  for (const object of callers(options)) print(await remove(apiserver, object))
  await removeLabels(apiserver, revision, print)
  for (const object of certificates(options)) print(await remove(apiserver, object))
}

function callers({
  webhookConfiguration,
  clusterRoleBinding,
}: DisarmOptions): readonly DisarmTarget[] {
  const named = (kind: string, root: string, name: string | undefined) =>
    name === undefined ? [] : [{ kind, root, name }]
  const rights = '/apis/rbac.authorization.k8s.io/v1'
  return [
    ...named('MutatingWebhookConfiguration', WEBHOOK_CONFIGURATIONS, webhookConfiguration),
    ...named('ClusterRoleBinding', `${rights}/clusterrolebindings`, clusterRoleBinding),
  ]
}

/**
 * Lists the Certificates and their Secrets, and then the other Secrets. By default, cert-manager
 * does not delete the Secret of a deleted Certificate (--enable-certificate-owner-ref).
 */
function certificates({
  certificate = [],
  secret = [],
  namespace = '',
}: DisarmOptions): readonly DisarmTarget[] {
  const place = `namespaces/${encodeURIComponent(namespace)}`
  const secretOf = (name: string) => ({ kind: 'Secret', root: `/api/v1/${place}/secrets`, name })
  const issued = certificate.flatMap((name) => [
    { kind: 'Certificate', root: `/apis/cert-manager.io/v1/${place}/certificates`, name },
    secretOf(name),
  ])
  return [...issued, ...secret.map(secretOf)]
}

/** Removes an object, and returns a line with the result. */
async function remove({ ask }: Apiserver, { kind, root, name }: DisarmTarget): Promise<string> {
  const path = `${root}/${encodeURIComponent(name)}`
  try {
    await ask({ path, delete: {}, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
    return `${kind} ${name}: removed`
  } catch (error) {
    // The status is also 404 if the cluster does not serve the kind.
    if (isMissing(error)) return `${kind} ${name}: not found`
    throw new UsageError(`cannot remove ${kind} ${name}: ${describeApiError(error)}`)
  }
}

/** The longest wait. A webhook removes the label after ten seconds. */
const LIMIT_MS = 30_000
/** The pause between two requests. */
const PAUSE_MS = 500

/**
 * Waits until no namespace has the label `ridealong.dev/moved-from` of this release. Until then,
 * the release still handles pods of namespaces that were moved to another release. If no webhook
 * removes the label within 30 seconds, the removal of the release continues anyway.
 *
 * @param revision undefined for the default release
 * @throws UsageError if namespaces cannot be listed
 */
async function awaitMoves(
  apiserver: Apiserver,
  revision: string | undefined,
  print: (line: string) => void,
): Promise<void> {
  const labelSelector = `${MOVED_FROM_LABEL}=${nameRevision(revision)}`
  const end = performance.now() + LIMIT_MS
  const printed = new Set<string>()
  for (;;) {
    const names = await listNamespaces(apiserver, labelSelector, `with the label ${labelSelector}`)
    if (names.length === 0) return
    for (const name of names.filter((name) => !printed.has(name))) {
      print(`Namespace ${name}: waiting until it has moved to another release`)
      printed.add(name)
    }
    if (performance.now() > end) return
    await pause(PAUSE_MS)
  }
}
