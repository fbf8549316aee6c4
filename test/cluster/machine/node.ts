import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DNS_ADDRESS, flags } from './control-plane.ts'
import { type Daemon, start } from './daemon.ts'
import { run } from './tools.ts'

/**
 * The network of the pods, and the address of the host in this network. The address exists as soon
 * as the first pod runs.
 */
export const POD_NETWORK = '10.244.0.0/24'
export const HOST_ADDRESS = '10.244.0.1'
const BRIDGE = 'ridealong0'

export const PAUSE_IMAGE = 'registry.k8s.io/pause:3.10'

/** The folders and ports of a node, which has a containerd of its own. */
export interface Node {
  readonly folder: string
  readonly programs: string
  /** The version of Kubernetes, for example v1.36.3. */
  readonly version: string
  readonly ports: { readonly kubelet: number; readonly metrics: number; readonly healthz: number }
  /** The folder with the programs of containerd; undefined for those of this machine. */
  readonly containerd: string | undefined
}

export function containerdSocket(folder: string): string {
  return join(folder, 'containerd.sock')
}

/**
 * Reports whether this machine is already a node of another cluster. A second kube-proxy, or the
 * cleanup of our node, would break that cluster.
 */
export function isNodeAlready(): Promise<boolean> {
  return run('iptables', ['--wait', '-t', 'nat', '-L', 'KUBE-SERVICES', '-n']).then(
    () => true,
    () => false,
  )
}

/** Starts containerd with all of its files in the folder. */
export async function startContainerd({ folder, containerd }: Node): Promise<Daemon> {
  await mkdir(join(folder, 'cni'), { recursive: true })
  await writeFile(join(folder, 'cni', '10-bridge.conflist'), JSON.stringify(CNI, undefined, 2))
  await writeFile(join(folder, 'containerd.toml'), containerdConfig(folder))
  const program = containerd === undefined ? 'containerd' : join(containerd, 'containerd')
  // containerd finds the shim of its containers in PATH.
  const path = [containerd, process.env.PATH].filter((one) => one !== undefined).join(':')
  const env = { ...process.env, PATH: path }
  return start(folder, program, ['--config', join(folder, 'containerd.toml')], 'containerd', env)
}

const CNI = {
  cniVersion: '1.0.0',
  name: 'ridealong-test',
  plugins: [
    {
      type: 'bridge',
      bridge: BRIDGE,
      isGateway: true,
      ipMasq: false,
      ipam: {
        type: 'host-local',
        dataDir: '/run/ridealong-test-ipam',
        ranges: [[{ subnet: POD_NETWORK }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
  ],
}

/**
 * Returns the configuration of containerd. `restrict_oom_score_adj` is set, because a score below
 * zero needs CAP_SYS_RESOURCE, which root in a sandbox may not have.
 */
function containerdConfig(folder: string): string {
  return `version = 2
root = "${join(folder, 'containerd')}"
state = "${join(folder, 'containerd-state')}"
[grpc]
  address = "${containerdSocket(folder)}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${join(folder, 'cni')}"
`
}

/**
 * Starts the kubelet. The name of its node is `localhost`, so that the apiserver reaches the
 * kubelet on loopback.
 */
export async function startKubelet({ folder, programs, version, ports }: Node): Promise<Daemon> {
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: '127.0.0.1',
    port: ports.kubelet,
    readOnlyPort: 0,
    healthzPort: 0,
    containerRuntimeEndpoint: `unix://${containerdSocket(folder)}`,
    cgroupDriver: 'cgroupfs',
    ...(refusesCgroupV1(version) && { failCgroupV1: false }),
    clusterDNS: [DNS_ADDRESS],
    clusterDomain: 'cluster.local',
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    enforceNodeAllocatable: [],
    evictionHard: {
      'memory.available': '0%',
      'nodefs.available': '0%',
      'nodefs.inodesFree': '0%',
      'imagefs.available': '0%',
    },
    imageGCHighThresholdPercent: 100,
    authentication: {
      anonymous: { enabled: false },
      x509: { clientCAFile: join(folder, 'pki', 'ca.crt') },
    },
    authorization: { mode: 'AlwaysAllow' },
    maxPods: 250,
    syncFrequency: '10s',
    podLogsDir: join(folder, 'pod-logs'),
  }
  await writeFile(join(folder, 'kubelet.json'), JSON.stringify(config, undefined, 2))
  return start(
    folder,
    join(programs, 'kubelet'),
    flags({
      config: join(folder, 'kubelet.json'),
      kubeconfig: join(folder, 'pki', 'kubelet.kubeconfig'),
      'root-dir': join(folder, 'kubelet'),
      'cert-dir': join(folder, 'kubelet-pki'),
      'hostname-override': 'localhost',
    }),
  )
}

/** Starts kube-proxy, so that pods reach Services, including the Service of the apiserver. */
export function startProxy({ folder, programs, ports }: Node): Daemon {
  return start(
    folder,
    join(programs, 'kube-proxy'),
    flags({
      kubeconfig: join(folder, 'pki', 'proxy.kubeconfig'),
      'hostname-override': 'localhost',
      'proxy-mode': 'iptables',
      'cluster-cidr': POD_NETWORK,
      'metrics-bind-address': `127.0.0.1:${ports.metrics}`,
      'healthz-bind-address': `127.0.0.1:${ports.healthz}`,
      'conntrack-max-per-core': 0,
      'conntrack-tcp-timeout-established': '0s',
      'conntrack-tcp-timeout-close-wait': '0s',
    }),
  )
}

/**
 * Reports whether a kubelet of this version may refuse the cgroups of this machine by default. The
 * kubelet of 1.36 refuses cgroup v1. The kubelet of 1.30 does not, and has no field `failCgroupV1`.
 */
function refusesCgroupV1(version: string): boolean {
  const isCgroupV1 = !existsSync('/sys/fs/cgroup/cgroup.controllers')
  return isCgroupV1 && !version.startsWith('v1.30.')
}

/**
 * Removes the remains of a node whose daemons have ended: running containers, mounts, the bridge
 * and cgroups.
 */
export async function cleanNode(folder: string, programs: string): Promise<void> {
  await killShims(folder)
  for (const path of (await mountsUnder(folder)).reverse()) {
    await run('umount', ['--lazy', path]).catch(() => {})
  }
  await run(join(programs, 'kube-proxy'), ['--cleanup']).catch(() => {})
  await run('ip', ['link', 'delete', BRIDGE]).catch(() => {})
  await run('sh', ['-c', CLEAN_UP, 'clean-up', folder])
}

/**
 * Removes the remains of the kubelet and kube-proxy: addresses of pods, the chain KUBE-FIREWALL of
 * iptables, cgroups, and links to deleted logs.
 */
const CLEAN_UP = `
rm -rf /run/ridealong-test-ipam
for tables in iptables ip6tables; do
  for chain in INPUT OUTPUT; do $tables -D $chain -j KUBE-FIREWALL; done
  $tables -F KUBE-FIREWALL && $tables -X KUBE-FIREWALL
done 2>/dev/null
find -H /sys/fs/cgroup -depth -type d -path '*/kubepods*' -exec rmdir {} + 2>/dev/null
find /var/log/containers -lname "$1/*" -delete 2>/dev/null
true`

async function killShims(folder: string): Promise<void> {
  const list = await run('ps', ['-eo', 'pid=,args='])
  const shims = list
    .split('\n')
    .filter((line) => line.includes('containerd-shim') && line.includes(containerdSocket(folder)))
  for (const shim of shims) {
    const [pid = ''] = shim.trim().split(' ')
    await run('pkill', ['-KILL', '-P', pid]).catch(() => {})
    await run('kill', ['-KILL', pid]).catch(() => {})
  }
}

async function mountsUnder(folder: string): Promise<string[]> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8')
  const paths = mounts.split('\n').map((line) => line.split(' ')[4] ?? '')
  return paths.filter((path) => path.startsWith(`${folder}/`))
}
