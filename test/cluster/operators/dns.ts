import { errorMessage } from '../../../src/lib/error-message.ts'
import type { Cluster } from '../machine/cluster.ts'
import { DNS_ADDRESS } from '../machine/control-plane.ts'
import { kubectl } from '../machine/kubectl.ts'
import { tools } from '../machine/tools.ts'
import { until } from '../until.ts'
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
  const create = () =>
    kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], JSON.stringify(service))
  await until('the address of the DNS server is free', () => isAllocated(create))
  await startInCluster(cluster, namespace, {
    name: 'coredns',
    folder: await tools('coredns', () => {}),
    words: ['-conf', '/etc/coredns/Corefile'],
    files: { Corefile: COREFILE },
    readiness: { path: '/ready', port: 8181 },
  })
}

/**
 * Creates a Service with a fixed address, and returns false if the address is not free. If the
 * Service of an earlier test was just deleted, the apiserver may allocate its address once more for
 * about a minute, because a cache still has that Service (syncService in
 * pkg/registry/core/service/ipallocator/controller/repairip.go).
 */
async function isAllocated(create: () => Promise<string>): Promise<boolean> {
  try {
    await create()
    return true
  } catch (error) {
    if (errorMessage(error).includes('already allocated')) return false
    throw error
  }
}
