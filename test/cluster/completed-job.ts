import type { Cluster } from './machine/cluster.ts'
import { kubectl } from './machine/kubectl.ts'

/** A pod of a Job, as the apiserver serves it. */
export interface JobPod {
  readonly metadata: {
    readonly name: string
    readonly annotations: Readonly<Record<string, string>>
    readonly labels: Readonly<Record<string, string>>
    readonly ownerReferences: readonly object[]
  }
  readonly spec: object
}

interface Spec {
  readonly volumes: readonly { readonly name: string }[]
  readonly containers: readonly Listed[]
  readonly initContainers: readonly Listed[]
}

/** Waits until an Indexed Job has completed, and returns its pods by their completion index. */
export async function podsOfCompleted(
  cluster: Cluster,
  namespace: string,
  job: string,
): Promise<readonly JobPod[]> {
  const complete = ['wait', '--for=condition=Complete', `job/${job}`, '-n', namespace]
  await kubectl(cluster, [...complete, '--timeout=300s'])
  const words = ['get', 'pods', '-n', namespace, '-l', `job-name=${job}`, '-o', 'json']
  const { items } = JSON.parse(await kubectl(cluster, words))
  const indexOf = ({ metadata }: JobPod) =>
    Number(metadata.annotations['batch.kubernetes.io/job-completion-index'])
  return (items as readonly JobPod[]).toSorted((a, b) => indexOf(a) - indexOf(b))
}

/** The generated names of volumes. */
const GENERATED = /(kube-api-access|ridealong-no-token|ridealong-tool-cpu-profile)-[a-z0-9]+/g

/**
 * Returns a pod without the fields in which pods of the same Job in two namespaces may differ:
 * - the uid of the Job, which the apiserver generates
 * - the generated names of volumes: the volume with the service account token, the empty volume
 *   that hides the token from the observer, and the volume of a tool
 * - the order of these volumes, of their mounts and of the variables of containers: the apiserver
 *   and the Job controller add theirs before the webhook, but a template contains the others
 * - the variable JOB_COMPLETION_INDEX of installers: the Job controller adds it to all containers
 *   of a template, and an installer that the webhook adds does not need it
 * - the revision of the catalog: the command adds the built-in metrics to those of a release
 *
 * Other metadata, such as names and times, and the status are not compared.
 */
export function comparable({ metadata, spec }: JobPod) {
  const { annotations, labels, ownerReferences } = metadata
  const { 'controller-uid': _, 'batch.kubernetes.io/controller-uid': __, ...named } = labels
  const owners = ownerReferences.map((owner) => ({ ...owner, uid: 'of the Job' }))
  const catalog = JSON.parse(annotations['ridealong.dev/status'] ?? '{}').catalog
  const known = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replaceAll(catalog, 'revision').replace(GENERATED, '$1'))
  const same = known(spec) as Spec
  const sorted = {
    ...same,
    volumes: same.volumes.toSorted(byName),
    containers: same.containers.map(withSortedLists),
    initContainers: same.initContainers.map(withSortedLists),
  }
  return { annotations: known(annotations), labels: named, owners, spec: sorted }
}

const byName = (a: { readonly name: string }, b: { readonly name: string }) =>
  a.name < b.name ? -1 : 1

interface Listed {
  readonly name: string
  readonly env?: readonly { readonly name: string }[]
  readonly volumeMounts?: readonly { readonly mountPath: string }[]
}

function withSortedLists<C extends Listed>(container: C) {
  const { name: own, env = [], volumeMounts = [] } = container
  const isLeftOut = (name: string) => name === 'JOB_COMPLETION_INDEX' && own.endsWith('-install')
  const mounts = volumeMounts.toSorted((a, b) => (a.mountPath < b.mountPath ? -1 : 1))
  const variables = env.filter(({ name }) => !isLeftOut(name)).toSorted(byName)
  return { ...container, env: variables, volumeMounts: mounts }
}
