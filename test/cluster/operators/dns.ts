import type { Cluster } from '../machine/cluster.ts'
import { DNS_ADDRESS } from '../machine/control-plane.ts'
import { kubectl } from '../machine/kubectl.ts'
import { tools } from '../machine/tools.ts'
import { startInCluster } from './in-cluster.ts'

/** The configuration of CoreDNS, which refuses names outside of the cluster. */
const COREFILE = `.:53 {
  errors
  ready
  kubernetes cluster.local
}
`

/** Runs CoreDNS, at the address that the kubelet writes into the resolv.conf of every pod. */
export async function startDns(cluster: Cluster, namespace: string): Promise<void> {
  const ports = ['UDP', 'TCP'].map((protocol) => ({
    name: protocol.toLowerCase(),
    protocol,
    port: 53,
  }))
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kube-dns' },
    spec: { clusterIP: DNS_ADDRESS, selector: { program: 'coredns' }, ports },
  }
  await kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], JSON.stringify(service))
  await startInCluster(cluster, namespace, {
    name: 'coredns',
    folder: await tools('coredns', () => {}),
    words: ['-conf', '/etc/coredns/Corefile'],
    files: { Corefile: COREFILE },
    readiness: { path: '/ready', port: 8181 },
  })
}
