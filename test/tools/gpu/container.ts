import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openFolder } from '../../observers/pod.ts'
import { observerTests } from '../../observers/prerequisites.ts'

// No GPU of NVIDIA is at hand. The library of its driver is a stand-in of ours (programs/nvml.c),
// and its device files are ordinary files in the mounts of the container.

const TOOL = fileURLToPath(new URL('../../../observer/gpu/', import.meta.url))
const PROGRAMS = fileURLToPath(new URL('programs/', import.meta.url))

/** The options of a test that runs programs with the tool. */
export const gpuTests = observerTests

/** The seconds after which a call hangs, in this build of the tool. */
const CALL_SECONDS = 2

let built: string | undefined

/**
 * Builds the tool and the stand-ins for the library. Further calls return the same folder: `tool`
 * has the files of the tool, `broken` has no reader, and `nvml` and `old` have a library each.
 */
export function build(): string {
  if (built !== undefined) return built
  const folder = openFolder('ridealong-gpu-')
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const compiler = join(folder, 'gcc')
  const script = `#!/bin/sh\nexec gcc -DMAX_CALL_SECONDS=${CALL_SECONDS} "$@"\n`
  writeFileSync(compiler, script, { mode: 0o755 })
  const words = [process.arch === 'x64' ? 'amd64' : 'arm64', join(folder, 'tool')]
  const env = { ...process.env, CC: compiler }
  execFileSync(join(TOOL, 'build.sh'), words, { env })
  mkdirSync(join(folder, 'broken'))
  const library = 'libridealong-gpu.so'
  cpSync(join(folder, 'tool', library), join(folder, 'broken', library))
  for (const [name, ...flags] of [['nvml'], ['old', '-DOLD']] as const) {
    mkdirSync(join(folder, name))
    const shared = ['-shared', '-fPIC', ...flags, join(PROGRAMS, 'nvml.c')]
    execFileSync('gcc', [...shared, '-o', join(folder, name, 'libnvidia-ml.so.1')])
  }
  built = folder
  return folder
}

/** The path of a source of the tool, and of a program of these tests. */
export const source = (name: string) => join(TOOL, name)
export const program = (name: string) => join(PROGRAMS, name)

/** What a container has. */
export interface Container {
  /** How the library behaves; see programs/nvml.c. Without it, the container has no GPU. */
  readonly behavior?: string
  /** The folder with the library; `none` has none. */
  readonly library?: 'nvml' | 'old' | 'none'
  readonly tool?: 'tool' | 'broken'
  /** The folder of the results. */
  readonly results: string
}

/** Makes the device files, and mounts the tool and its results where the catalog says. */
const MOUNT = `
if [ -n "$0" ]; then : >/dev/nvidiactl; : >/dev/nvidia0; echo "$0" >/dev/nvidia-case; fi
mount -t tmpfs none /opt && mount -t tmpfs none /var/opt
mkdir -p /opt/ridealong/gpu-nvidia /var/opt/ridealong/gpu-nvidia
mount --bind "$1" /opt/ridealong/gpu-nvidia && mount --bind "$2" /var/opt/ridealong/gpu-nvidia
shift 2; exec "$@"`

/** Returns the words that run a program in mounts of its own. Only the program gets the tool. */
export function inContainer(
  { behavior = '', library = 'nvml', tool = 'tool', results }: Container,
  argv: readonly string[],
  isLoaded = true,
): readonly string[] {
  const folder = build()
  const loading = ['LD_PRELOAD=/opt/ridealong/gpu-nvidia/libridealong-gpu.so']
  const variables = [`LD_LIBRARY_PATH=${join(folder, library)}`, ...(isLoaded ? loading : [])]
  const mounts = ['sh', '-c', MOUNT, behavior, join(folder, tool), results]
  return [...mounts, 'env', ...variables, ...argv]
}

/** A /dev of its own, for a container that is not in a pod. */
const DEVICES = `
mount -t tmpfs dev "$0" && for name in null zero full random urandom; do
  : >"$0/$name"; mount --bind "/dev/$name" "$0/$name"; done
ln -s /proc/self/fd "$0/fd" && mount --move "$0" /dev
exec "$@"`

/** Returns the words that run a program as process 1 of a container of its own. */
export function asFirstProcess(container: Container, argv: readonly string[], isLoaded = true) {
  const flags = ['--mount', '--pid', '--fork', '--mount-proc', '--kill-child']
  const folder = join(build(), 'devices')
  mkdirSync(folder, { recursive: true })
  const words = inContainer(container, argv, isLoaded)
  return ['unshare', ...flags, 'sh', '-c', DEVICES, folder, ...words]
}
