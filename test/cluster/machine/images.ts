import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildObserver } from '../../observers/program.ts'
import type { Cluster } from './cluster.ts'
import { containerdSocket, PAUSE_IMAGE } from './node.ts'
import { FLUX_CORE, OPERATORS_FOLDER } from './operators-folder.ts'
import { CACHE, moduleFolder, run } from './tools.ts'

const FOLDERS = fileURLToPath(new URL('../applications', import.meta.url))
const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url))

/** Images that the Dockerfile builds, one for each target. */
export const IMAGES = {
  webhook: 'ghcr.io/ridealong/webhook:test',
  observer: 'ghcr.io/ridealong/observer:test',
  tools: 'ghcr.io/ridealong/tools:test',
} as const

export type Target = keyof typeof IMAGES

/** The images of applications that tests observe. Each has a folder in applications. */
export const APPLICATIONS = {
  lammps: 'localhost/lammps:test',
  flux: 'localhost/flux:test',
  mpi: 'localhost/mpi:test',
  python: 'localhost/python:test',
  'user-1234': 'localhost/user-1234:test',
  'user-65532': 'localhost/user-65532:test',
} as const

export type Application = keyof typeof APPLICATIONS

/**
 * The base images of the Dockerfile. They are replaced by local images with the same names, so that
 * no registry is needed.
 */
export const DEBIAN_IMAGE = 'docker.io/library/debian:bookworm-slim'
const NODE_IMAGE = 'docker.io/library/node:24-bookworm-slim'
const RUST_IMAGE = 'docker.io/library/rust:1-bookworm'

const STORE = join(CACHE, 'images')

function buildah(...words: readonly string[]): Promise<string> {
  const store = ['--root', STORE, '--runroot', join(tmpdir(), 'ridealong-buildah')]
  return run('buildah', [...store, '--storage-driver', 'overlay', ...words], { cwd: REPOSITORY })
}

/** Builds a target of the project's Dockerfile. */
export async function buildTarget(target: Target, say: (line: string) => void): Promise<void> {
  await makeBases(say)
  if (target !== 'webhook') await makeRust(say)
  say(`building the image ${target}`)
  await buildah(
    ...['build', '--isolation', 'chroot', '--pull=never', '--layers'],
    ...(await standIns()),
    ...['--target', target, '--tag', IMAGES[target], '.'],
  )
}

/**
 * Returns the build arguments that replace the pinned base images of the Dockerfile by the local
 * images, which have other digests.
 */
async function standIns(): Promise<readonly string[]> {
  const dockerfile = await readFile(join(REPOSITORY, 'Dockerfile'), 'utf8')
  const pinned = [...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?((\S+)@sha256:[0-9a-f]{64})/gm)]
  return pinned.flatMap(([, image, tag]) => {
    return ['--build-context', `${image}=docker-image://docker.io/library/${tag}`]
  })
}

/** The build arguments of the image of Flux. The archive of Flux is in OPERATORS_FOLDER. */
const FLUX = [
  ...['--build-context', `operators=${OPERATORS_FOLDER}`],
  ...['--build-arg', `FLUX_CORE=${FLUX_CORE}`],
]

/** The applications whose images are based on the image of LAMMPS. */
const WITH_LAMMPS: readonly Application[] = ['flux', 'mpi']

/**
 * Builds the image of an application on the local base images. First builds the image of LAMMPS if
 * the application is based on it. Unchanged layers are reused.
 */
export async function buildApplication(name: Application, say: (line: string) => void) {
  if (WITH_LAMMPS.includes(name)) await buildApplication('lammps', say)
  say(`building the image ${name}`)
  await buildah(
    ...['build', '--isolation', 'chroot', '--pull=never', '--layers'],
    ...(name === 'flux' ? FLUX : []),
    ...['--tag', APPLICATIONS[name], join(FOLDERS, name)],
  )
}

/** Loads an image into the cluster's containerd. */
export async function load(cluster: Cluster, image: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-image-'))
  const archive = join(folder, 'image.tar')
  try {
    await buildah('push', '--quiet', image, `docker-archive:${archive}:${image}`)
    await ctr(cluster, 'import', archive)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Images to build: targets of the Dockerfile, and applications. */
export interface Builds {
  readonly targets: readonly Target[]
  readonly applications?: readonly Application[]
}

/** Builds images, and loads them into the node, with the images of Debian and of each pod. */
export async function buildAndLoad(
  cluster: Cluster,
  { targets, applications = [] }: Builds,
  say: (line: string) => void,
): Promise<void> {
  for (const target of targets) await buildTarget(target, say)
  for (const name of applications) await buildApplication(name, say)
  say('loading the images into the node')
  const observed = applications.map((name) => APPLICATIONS[name])
  const own = targets.map((target) => IMAGES[target])
  for (const image of [PAUSE_IMAGE, DEBIAN_IMAGE, ...own, ...observed]) {
    await load(cluster, image)
  }
}

/** Gives an image in the cluster's containerd a second name. */
export async function nameOnNode(cluster: Cluster, image: string, name: string): Promise<void> {
  await ctr(cluster, 'tag', image, name)
}

/** Removes a name of an image in the cluster's containerd. */
export async function forgetOnNode(cluster: Cluster, name: string): Promise<void> {
  await ctr(cluster, 'rm', name)
}

function ctr({ folder, containerd }: Cluster, ...words: readonly string[]): Promise<string> {
  const program = containerd === undefined ? 'ctr' : join(containerd, 'ctr')
  return run(program, ['--address', containerdSocket(folder), '-n', 'k8s.io', 'images', ...words])
}

/** Builds the missing images: Debian, Debian with Node, and the pause image of every pod. */
export async function makeBases(say: (line: string) => void): Promise<void> {
  await mkdir(STORE, { recursive: true })
  const present = await buildah('images', '--format', '{{.Name}}:{{.Tag}}')
  const isMissing = (image: string) => !present.split('\n').includes(image)
  if (isMissing(DEBIAN_IMAGE)) await makeDebian(say)
  if (isMissing(NODE_IMAGE)) await makeNode(say)
  if (isMissing(PAUSE_IMAGE)) await makePause(say)
}

/** The files with which apt and npm reach this machine's package sources. */
const REACH = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/apt/apt.conf.d',
  '/etc/apt/sources.list.d',
]

async function makeDebian(say: (line: string) => void): Promise<void> {
  say('making a stand-in for the image of Debian')
  await inFolder(async (folder) => {
    const root = join(folder, 'root')
    await run('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', root])
    await rm(join(root, 'var/cache/apt'), { recursive: true })
    for (const path of REACH.filter(existsSync)) {
      await rm(join(root, path), { recursive: true, force: true })
      await cp(path, join(root, path), { recursive: true, dereference: true })
    }
    if (existsSync('/etc/apt/sources.list.d/debian.sources')) {
      await rm(join(root, 'etc/apt/sources.list'), { force: true })
    }
    await commit(DEBIAN_IMAGE, 'scratch', root, ['--cmd', 'bash'])
  })
}

/**
 * Builds an image with Node and npm, on the image of Debian. The binary of Node comes from the npm
 * package `node`, which contains the same binary as the official image.
 */
async function makeNode(say: (line: string) => void): Promise<void> {
  say('making a stand-in for the image of Node')
  await inFolder(async (folder) => {
    const root = join(folder, 'root')
    const modules = join(root, 'usr/local/lib/node_modules')
    const bin = join(root, 'usr/local/bin')
    await mkdir(modules, { recursive: true })
    await mkdir(bin, { recursive: true })
    await cp(join(REPOSITORY, 'node_modules/node/bin/node'), join(bin, 'node'))
    const npm = (await run('sh', ['-c', 'realpath "$(command -v npm)"'])).trim()
    await cp(join(npm, '../..'), join(modules, 'npm'), { recursive: true, dereference: true })
    await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(bin, 'npm'))
    await commit(NODE_IMAGE, DEBIAN_IMAGE, root, [
      ...['--env', 'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt'],
      ...['--cmd', 'node'],
    ])
  })
}

/** A replacement for cargo that copies a program that this machine's cargo has compiled. */
const CARGO = `#!/bin/sh
while [ "$1" != --target ]; do shift; done
mkdir -p "target/$2/release" && cp /usr/local/lib/ridealong-observer "target/$2/release/"
`

/**
 * Builds an image that replaces the image of Rust, because a Rust toolchain has a size of a
 * gigabyte. The image contains a replacement for cargo, which copies one program that was built on
 * this machine.
 */
async function makeRust(say: (line: string) => void): Promise<void> {
  say('making a stand-in for the image of Rust')
  const program = buildObserver()
  if (program === undefined) throw new Error('cargo is not installed; see rustup.rs')
  await inFolder(async (folder) => {
    const root = join(folder, 'root')
    await mkdir(join(root, 'usr/local/bin'), { recursive: true })
    await mkdir(join(root, 'usr/local/lib'))
    await writeFile(join(root, 'usr/local/bin/cargo'), CARGO, { mode: 0o755 })
    await cp(program, join(root, 'usr/local/lib/ridealong-observer'))
    await commit(RUST_IMAGE, DEBIAN_IMAGE, root, ['--cmd', 'bash'])
  })
}

/** Builds Kubernetes's pause program from the source in its module (build/pause/linux/pause.c). */
async function makePause(say: (line: string) => void): Promise<void> {
  say('making the image of pause')
  await inFolder(async (folder) => {
    const source = await moduleFolder('kubernetes-1.36', 'k8s.io/kubernetes')
    const root = join(folder, 'root')
    await mkdir(root)
    const program = join(source, 'build/pause/linux/pause.c')
    await run('gcc', ['-Os', '-static', '-DVERSION=3.10', '-o', join(root, 'pause'), program])
    await commit(PAUSE_IMAGE, 'scratch', root, ['--entrypoint', '["/pause"]', '--user', '65535'])
  })
}

/** Builds an image from a base image and a folder. */
async function commit(
  image: string,
  base: string,
  root: string,
  config: readonly string[],
): Promise<void> {
  const container = (await buildah('from', '--pull=never', base)).trim()
  await buildah('copy', '--quiet', container, root, '/')
  await buildah('config', ...config, container)
  await buildah('commit', '--quiet', '--rm', container, image)
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-base-'))
  try {
    await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
