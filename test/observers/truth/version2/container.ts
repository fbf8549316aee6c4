/** A container of the guest: the program, and what its cgroup allows. */
export interface GuestContainer {
  readonly pod: string
  readonly name: string
  readonly args: readonly string[]
  readonly env?: readonly string[]
  /** The limits of its cgroup, as the OCI runtime specification names them. */
  readonly resources?: Readonly<Record<string, unknown>>
  /** Whether the container can make cgroups below its own. */
  readonly isWritable?: boolean
}

/** The number of the driver of the first virtio disk, which the kernel gives out first. */
const DISK = { path: '/dev/vda', type: 'b', major: 254, minor: 0, fileMode: 0o666 }

/**
 * Returns the config.json of a container, as containerd writes it for a pod whose containers share
 * the process namespace of the container pause. All containers are root with the capabilities that
 * the observer needs to read the I/O of processes.
 */
export function ociConfig(container: GuestContainer) {
  const { pod, name, args, env = [], resources = {}, isWritable = false } = container
  const isPause = name === 'pause'
  const capabilities = ['CAP_SYS_PTRACE', 'CAP_DAC_OVERRIDE']
  const cgroup = ['nosuid', 'noexec', 'nodev', 'relatime', isWritable ? 'rw' : 'ro']
  const message = `/var/lib/kubelet/pods/${pod}/containers/${name}/0`
  return {
    ociVersion: '1.0.2',
    process: {
      user: { uid: 0, gid: 0 },
      cwd: '/',
      args,
      env: ['PATH=/', ...env],
      noNewPrivileges: true,
      capabilities: {
        bounding: capabilities,
        effective: capabilities,
        permitted: capabilities,
      },
    },
    root: { path: 'rootfs' },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['ro'] },
      { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: cgroup },
      ...(isPause
        ? []
        : [{ destination: '/dev/termination-log', source: message, options: ['rbind', 'rw'] }]),
    ],
    linux: {
      namespaces: [
        ...['mount', 'cgroup', 'ipc', 'uts'].map((type) => ({ type })),
        isPause ? { type: 'pid' } : { type: 'pid', path: '/proc/PAUSE/ns/pid' },
      ],
      cgroupsPath: `/kubepods/${pod}/${name}`,
      devices: [DISK],
      resources: { devices: [{ allow: true, access: 'rwm' }], ...resources },
    },
  }
}
