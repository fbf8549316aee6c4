import { run } from './tools.ts'

/** The programs that a node needs, each with its Debian package. */
const PACKAGES = {
  containerd: 'containerd',
  runc: 'runc',
  buildah: 'buildah',
  debootstrap: 'debootstrap',
  iptables: 'iptables',
  ip: 'iproute2',
  gcc: 'gcc libc6-dev',
} as const

/**
 * Returns a sentence about the prerequisites of a cluster that this machine lacks; undefined if no
 * prerequisite is missing.
 *
 * @param hasNode whether pods are to run, which also needs root and more programs
 */
export async function problemOfPrerequisites(hasNode: boolean): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'the cluster of the tests needs Linux'
  if (!(await isInstalled('go'))) return 'the cluster of the tests needs Go, to build Kubernetes'
  if (!hasNode) return undefined
  if (process.getuid?.() !== 0) {
    return 'a node needs root; use --no-node to start only the control plane'
  }
  const missing: string[] = []
  for (const [program, name] of Object.entries(PACKAGES)) {
    if (!(await isInstalled(program))) missing.push(name)
  }
  if (missing.length === 0) return undefined
  return `a node needs more programs: apt-get install --no-install-recommends ${missing.join(' ')}`
}

function isInstalled(program: string): Promise<boolean> {
  return run('sh', ['-c', 'command -v "$0"', program]).then(
    () => true,
    () => false,
  )
}
