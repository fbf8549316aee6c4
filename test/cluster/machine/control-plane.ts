import { join } from 'node:path'
import { type Daemon, start } from './daemon.ts'

/** The folders, the ports and the address of a control plane. */
export interface ControlPlane {
  /** The folder of all files that the control plane writes. */
  readonly folder: string
  readonly etcd: string
  /** The folder of Kubernetes's programs. */
  readonly programs: string
  readonly ports: Ports
  /** The address at which pods reach the apiserver; loopback if there are no pods. */
  readonly address: string
  readonly flags?: ProgramFlags | undefined
}

/** Flags of a program, without the dashes. */
export type Flags = Readonly<Record<string, string | number | boolean>>

/** Flags that replace or complete those of this file. */
export interface ProgramFlags {
  readonly etcd?: Flags
  readonly apiserver?: Flags
  readonly controllerManager?: Flags
  readonly scheduler?: Flags
}

export interface Ports {
  readonly etcd: number
  readonly etcdPeer: number
  readonly apiserver: number
  readonly controllerManager: number
  readonly scheduler: number
}

/** The first address of the Services' network belongs to the apiserver. */
export const SERVICE_ADDRESS = '10.96.0.1'

/** The address of the cluster's DNS server, which only some tests start. */
export const DNS_ADDRESS = '10.96.0.10'

/** Starts etcd without fsync: after a crash, data of these tests may be lost. */
export function startEtcd({ folder, etcd, ports, flags: more }: ControlPlane): Daemon {
  const client = `http://127.0.0.1:${ports.etcd}`
  const peer = `http://127.0.0.1:${ports.etcdPeer}`
  return start(
    folder,
    join(etcd, 'server'),
    flags({
      'data-dir': join(folder, 'etcd'),
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': `default=${peer}`,
      'unsafe-no-fsync': true,
      'log-level': 'warn',
      ...more?.etcd,
    }),
    'etcd',
  )
}

/**
 * Starts the apiserver. With aggregator routing, the apiserver connects directly to the pods of a
 * webhook's Service, so the address of the Service need not be translated.
 */
export function startApiserver(plane: ControlPlane): Daemon {
  const { folder, programs, ports, address } = plane
  const pki = (name: string) => join(folder, 'pki', name)
  return start(
    folder,
    join(programs, 'kube-apiserver'),
    flags({
      'etcd-servers': `http://127.0.0.1:${ports.etcd}`,
      'secure-port': ports.apiserver,
      'bind-address': address === '127.0.0.1' ? address : '0.0.0.0',
      'advertise-address': address,
      'authorization-mode': 'Node,RBAC',
      'allow-privileged': true,
      'enable-aggregator-routing': true,
      'service-cluster-ip-range': '10.96.0.0/16',
      'client-ca-file': pki('ca.crt'),
      'tls-cert-file': pki('apiserver.crt'),
      'tls-private-key-file': pki('apiserver.key'),
      'kubelet-client-certificate': pki('admin.crt'),
      'kubelet-client-key': pki('admin.key'),
      'kubelet-preferred-address-types': 'Hostname',
      'service-account-key-file': pki('sa.pub'),
      'service-account-signing-key-file': pki('sa.key'),
      'service-account-issuer': 'https://kubernetes.default.svc',
      'admission-control-config-file': pki('admission.json'),
      'max-requests-inflight': 2000,
      'max-mutating-requests-inflight': 1000,
      ...plane.flags?.apiserver,
    }),
  )
}

/**
 * Starts the controllers. Their request limits are so high that the time of a large Job depends on
 * admission and not on these limits.
 */
export function startControllerManager(plane: ControlPlane): Daemon {
  const { folder, programs, ports } = plane
  return start(
    folder,
    join(programs, 'kube-controller-manager'),
    flags({
      ...clientOf(folder, 'controller-manager', ports.controllerManager),
      'use-service-account-credentials': true,
      'service-account-private-key-file': join(folder, 'pki', 'sa.key'),
      'root-ca-file': join(folder, 'pki', 'ca.crt'),
      'kube-api-qps': 1000,
      'kube-api-burst': 2000,
      ...plane.flags?.controllerManager,
    }),
  )
}

/** Starts the scheduler. */
export function startScheduler({ folder, programs, ports, flags: more }: ControlPlane): Daemon {
  return start(
    folder,
    join(programs, 'kube-scheduler'),
    flags({ ...clientOf(folder, 'scheduler', ports.scheduler), ...more?.scheduler }),
  )
}

/** The common flags of the scheduler and the controller manager. No leader election is needed. */
function clientOf(folder: string, name: string, port: number) {
  const kubeconfig = join(folder, 'pki', `${name}.kubeconfig`)
  return {
    kubeconfig,
    'authentication-kubeconfig': kubeconfig,
    'authorization-kubeconfig': kubeconfig,
    'bind-address': '127.0.0.1',
    'secure-port': port,
    'leader-elect': false,
  }
}

/** Returns flags as arguments in the form `--name=value`. */
export function flags(values: Flags): string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`)
}
