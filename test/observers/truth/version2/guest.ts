import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Test } from 'tap'
import { openFolder } from '../../pod.ts'
import { findMissingPrograms, observerTests, onPath } from '../../prerequisites.ts'
import { buildObserver } from '../../program.ts'
import { type GuestContainer, ociConfig } from './container.ts'

/** A pod of the guest, beside whose container `app` run the observers vitals and pressure. */
export interface GuestPod {
  readonly name: string
  /** The steps of load.c. */
  readonly steps: readonly string[]
  /** Texts for the files of the pod's cgroup. */
  readonly cgroup?: Readonly<Record<string, string>>
  readonly resources?: Readonly<Record<string, unknown>>
  readonly isWritable?: boolean
}

/** The files that the guest leaves for each pod, by their names. */
export type Results = ReadonlyMap<string, ReadonlyMap<string, string>>

const HERE = import.meta.dirname
const PROGRAMS = ['apt-get', 'dpkg-deb', 'busybox', 'runc', 'ldd', 'tar', 'qemu-system-x86_64']

/** The modules of the guest's kernel, in the order in which it loads them. */
const MODULES = [
  'virtio_ring',
  'virtio',
  'virtio_pci_modern_dev',
  'virtio_pci_legacy_dev',
  'virtio_pci',
  'virtio_blk',
]

/** Returns the options of tests that start a guest. @see observerTests */
export function guestTests(): { readonly skip: false | string; readonly timeout: number } {
  const { skip } = observerTests()
  const missing = findMissingPrograms(PROGRAMS)
  const isAllowed = skip !== false || missing.length === 0 || process.env.CI === 'true'
  const reason = `a virtual machine needs Debian with ${PROGRAMS.join(', ')}; not installed: `
  return { skip: isAllowed ? skip : `${reason}${missing.join(', ')}`, timeout: 800_000 }
}

/**
 * Runs pods in a virtual machine with Debian's kernel, whose cgroups are of version 2. The
 * containers are those of runc. There is no kubelet. QEMU emulates the processor, so the guest
 * needs no rights on this machine, and a loop takes about ten times as long.
 */
export function runGuest(t: Pick<Test, 'teardown'>, pods: readonly GuestPod[]): Results {
  const folder = openFolder('ridealong-guest-')
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const kernel = installKernel()
  makeRoot(join(folder, 'root'), kernel, pods)
  const pack = 'find . | busybox cpio -o -H newc >../initrd 2>../packed'
  execFileSync('sh', ['-c', pack], { cwd: join(folder, 'root') })
  const disks = ['data', 'results'].map((name) => join(folder, name))
  for (const disk of disks) writeFileSync(disk, '')
  for (const disk of disks) truncateSync(disk, 64 << 20)
  const console = execFileSync(
    'qemu-system-x86_64',
    [
      ...['-m', '512', '-smp', '2', '-nographic', '-monitor', 'none', '-no-reboot', '-nic', 'none'],
      ...['-kernel', join(kernel, 'vmlinuz'), '-initrd', join(folder, 'initrd')],
      ...['-append', 'console=ttyS0 loglevel=3 cgroup_no_v1=all psi=1 panic=-1'],
      ...disks.flatMap((disk) => ['-drive', `file=${disk},format=raw,if=virtio`]),
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 600_000 },
  )
  return readResults(disks[1] ?? '', folder, console)
}

/** Unpacks the files that the guest has written. @throws an error with the guest's console */
function readResults(disk: string, folder: string, console: string): Results {
  const results = join(folder, 'read')
  mkdirSync(results)
  try {
    execFileSync('tar', ['xf', disk, '-C', results], { stdio: 'ignore' })
  } catch (error) {
    throw new Error(`the guest has left no results: ${console}`, { cause: error })
  }
  const filesOf = (pod: string) => readdirSync(join(results, pod))
  return new Map(
    readdirSync(results).map((pod) => [
      pod,
      new Map(filesOf(pod).map((name) => [name, readFileSync(join(results, pod, name), 'utf8')])),
    ]),
  )
}

/** Returns a folder with the kernel of Debian and its modules. It is downloaded once. */
function installKernel(): string {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'ridealong')
  const words = ['-c', 'apt-cache depends linux-image-cloud-amd64 | sed -n "s/.*Depends: //p"']
  const [name = ''] = execFileSync('sh', words, { encoding: 'utf8' }).split('\n')
  const kernel = join(cache, name)
  if (existsSync(kernel)) return kernel
  mkdirSync(cache, { recursive: true })
  const building = mkdtempSync(`${kernel}-`)
  execFileSync('apt-get', ['download', name], { cwd: building, stdio: 'ignore' })
  const [archive = ''] = globSync(`${name}_*.deb`, { cwd: building })
  execFileSync('dpkg-deb', ['-x', archive, 'x'], { cwd: building })
  const [image = ''] = globSync('x/boot/vmlinuz-*', { cwd: building })
  renameSync(join(building, image), join(building, 'vmlinuz'))
  for (const module of MODULES) {
    const [found = ''] = globSync(`x/lib/modules/**/${module}.ko`, { cwd: building })
    renameSync(join(building, found), join(building, `${module}.ko`))
  }
  rmSync(join(building, 'x'), { recursive: true })
  rmSync(join(building, archive))
  renameSync(building, kernel)
  return kernel
}

/** Makes the root directory of the guest. */
function makeRoot(root: string, kernel: string, pods: readonly GuestPod[]): void {
  for (const path of ['bin', 'dev', 'new', 'modules'])
    mkdirSync(join(root, path), { recursive: true })
  cpSync(onPath('busybox'), join(root, 'bin/busybox'))
  copyWithLibraries(onPath('runc'), root)
  cpSync(join(HERE, 'init.sh'), join(root, 'init'))
  chmodSync(join(root, 'init'), 0o755)
  for (const module of MODULES)
    cpSync(join(kernel, `${module}.ko`), join(root, 'modules', `${module}.ko`))
  writeFileSync(join(root, 'modules/order'), MODULES.map((module) => `${module}.ko\n`).join(''))
  const load = join(dirname(root), 'load')
  execFileSync('gcc', ['-O1', '-static', '-o', load, join(HERE, 'load.c')])
  for (const pod of pods) makePod(join(root, 'pods', pod.name), load, pod)
}

function copyWithLibraries(program: string, root: string): void {
  cpSync(program, join(root, 'bin', basename(program)))
  const listed = execFileSync('ldd', [program], { encoding: 'utf8' })
  for (const [library] of listed.matchAll(/(?<=\s)\/\S+/g)) {
    mkdirSync(join(root, dirname(library)), { recursive: true })
    copyFileSync(library, join(root, library))
  }
}

const OBSERVERS = ['vitals', 'pressure'] as const
const OPTIONS = ['RIDEALONG_TARGET_CONTAINER=app', 'RIDEALONG_OPTION_RATE=0.5']

function makePod(folder: string, load: string, pod: GuestPod): void {
  const { name, steps, cgroup = {}, ...others } = pod
  mkdirSync(join(folder, 'cgroup'), { recursive: true })
  for (const [file, text] of Object.entries(cgroup))
    writeFileSync(join(folder, 'cgroup', file), text)
  const add = (container: Omit<GuestContainer, 'pod'>, program: string) => {
    const bundle = join(folder, container.name)
    for (const path of ['proc', 'dev', 'sys', 'tmp'])
      mkdirSync(join(bundle, 'rootfs', path), { recursive: true })
    cpSync(program, join(bundle, 'rootfs', basename(container.args[0] ?? '')))
    writeFileSync(
      join(bundle, 'config.json'),
      JSON.stringify(ociConfig({ pod: name, ...container })),
    )
  }
  add({ name: 'pause', args: ['/load'] }, load)
  add({ name: 'app', args: ['/load', ...steps], ...others }, load)
  for (const metric of OBSERVERS)
    add({ name: metric, args: [`/${metric}`], env: OPTIONS }, buildObserver() ?? '')
}
