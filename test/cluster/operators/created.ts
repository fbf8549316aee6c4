import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'

/** What a controller has created in a namespace for a workload. */
export interface Created {
  /** The pods, sorted by name. */
  readonly pods: readonly CreatedPod[]
  /** The specs or the data of all other objects, by kind and name. */
  readonly objects: Readonly<Record<string, unknown>>
}

// biome-ignore lint/suspicious/noExplicitAny: an object as the apiserver serves it.
type Served = any

export interface CreatedPod {
  readonly name: string
  /** The keys of the labels. Controllers may add some later. */
  readonly labels: readonly string[]
  readonly annotations: Readonly<Record<string, string>>
  readonly spec: Served
}

/** A ConfigMap of every namespace, and data that depends on which pods run already. */
const ROOT_CERTIFICATE = 'kube-root-ca.crt'
const DISCOVERY = 'discover_hosts.sh'

/**
 * Reads the pods and the other objects of a workload, without everything that differs between two
 * equal workloads in two namespaces: random parts of names, uids, addresses and the node.
 *
 * @param kind the kind of the workload, for example `jobset`
 * @param prefix how the names of all objects of the workload begin
 */
export async function listCreated(
  cluster: Cluster,
  namespace: string,
  kind: string,
  prefix: string,
): Promise<Created> {
  const kinds = new Set([kind, 'pods', 'jobs', 'services', 'configmaps'])
  const words = ['get', [...kinds].join(','), '-n', namespace, '-o', 'json']
  const all: Served[] = JSON.parse(await kubectl(cluster, words)).items
  const items = all.filter(({ metadata }) => {
    return metadata.name.startsWith(prefix) && metadata.name !== ROOT_CERTIFICATE
  })
  const isPod = ({ kind }: Served) => kind === 'Pod'
  const others = items.filter((item) => !isPod(item))
  return {
    pods: items
      .filter(isPod)
      .map((pod) => podOf(pod, namespace))
      .sort(byName),
    objects: Object.fromEntries(
      others.map((item) => [`${item.kind}/${item.metadata.name}`, contentOf(item, namespace)]),
    ),
  }
}

function podOf({ metadata, spec }: Served, namespace: string): CreatedPod {
  const { nodeName: _, ...content } = comparable(spec, namespace)
  return {
    name: metadata.name,
    labels: Object.keys(metadata.labels ?? {}).sort(),
    annotations: metadata.annotations ?? {},
    spec: content,
  }
}

function contentOf({ spec = {}, data = {} }: Served, namespace: string): unknown {
  const { selector: _, clusterIP: __, clusterIPs: ___, ...content } = spec
  const { [DISCOVERY]: ____, ...files } = data
  return comparable({ ...content, ...files }, namespace)
}

/**
 * Replaces the namespace, uids, hashes, and the random names of volumes with tokens, and sorts the
 * variables, whose order the Flux Operator does not fix.
 */
function comparable(value: unknown, namespace: string): Served {
  const text = JSON.stringify(value)
    .replaceAll(namespace, 'NAMESPACE')
    .replace(/kube-api-access-\w{5}/g, 'kube-api-access-NAME')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
    .replace(/\b[0-9a-f]{40}\b/g, 'HASH')
  return JSON.parse(text, (key, field) => (key === 'env' ? field.toSorted(byName) : field))
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name.localeCompare(b.name)
}
