import { type ChildProcess, execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { until as untilTrue } from '../until.ts'
import { onPath } from './prerequisites.ts'
import { buildObserver, NAMES } from './program.ts'

let copied: string | undefined

/**
 * Returns the path of the program of the observers under one of its names. The path names a copy
 * that every user can run. If cargo is not installed, the tests are skipped, and the function
 * returns only the name.
 */
export function observer(name: (typeof NAMES)[number]): string {
  const program = buildObserver()
  if (program === undefined) return name
  copied ??= copyObserver(program)
  return join(copied, name)
}

function copyObserver(program: string): string {
  const folder = openFolder('ridealong-observers-')
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  cpSync(program, join(folder, 'ridealong-observer'))
  for (const name of NAMES) symlinkSync('ridealong-observer', join(folder, name))
  return folder
}

/**
 * Makes a temporary folder that every user can enter.
 *
 * @throws if other users cannot enter the system's temporary folder
 */
export function openFolder(prefix: string): string {
  for (let path = tmpdir(); path !== dirname(path); path = dirname(path)) {
    if ((statSync(path).mode & 0o001) !== 0) continue
    throw new Error(`other users cannot enter ${path}; set TMPDIR to a folder that they can enter`)
  }
  const folder = mkdtempSync(join(tmpdir(), prefix))
  chmodSync(folder, 0o755)
  return folder
}

/** The user, group and capabilities of a process. The default is root with all capabilities. */
export interface Identity {
  readonly user?: number
  readonly group?: number
  /** Whether the process drops all capabilities. */
  readonly drops?: boolean
  /** The only capabilities that the process keeps, for example "setuid". */
  readonly keeps?: readonly string[]
}

/** The process of a container, and its output. */
export interface Running {
  /** The process id on this machine. */
  readonly pid: number
  /** Resolves when the process has ended, with the exit code or the name of the signal. */
  readonly ended: Promise<number | string>
  /** Returns the output so far. */
  log(): string
  /** Returns the termination message. */
  message(): string
  signal(name: NodeJS.Signals): void
}

/** The shared process namespace of a pod's containers. */
export interface Pod {
  /** The process id of its process 1 on this machine. */
  readonly pid: number
  run(
    name: string,
    argv: readonly string[],
    env?: NodeJS.ProcessEnv,
    as?: Identity,
  ): Promise<Running>
  end(): void
}

/**
 * Imitates the pause container: process 1, which reaps orphans, and a /dev with a termination log.
 */
const PAUSE = `
mount -t tmpfs dev "$0/dev"
for d in null zero full random urandom; do : >"$0/dev/$d"; mount --bind "/dev/$d" "$0/dev/$d"; done
ln -s /proc/self/fd "$0/dev/fd"
: >"$0/dev/termination-log"
mkdir -m 1777 "$0/dev/shm"
mount --move "$0/dev" /dev
sleep infinity &
: >"$0/ready"
wait`

/** The name that runc gives to the process in a new container, until it executes the program. */
const RUNTIME = 'runc:[2:INIT]'

/**
 * A start of a container. Its processes have the same termination log. The next process after their
 * end is another start of the container, as if the kubelet had restarted it.
 */
interface ContainerStart {
  readonly file: string
  /** The number of its processes that run. */
  running: number
}

/** Starts a program only after the test has read the process id and has mounted the file. */
const CONTAINER = `printf %s '${RUNTIME}' >/proc/self/comm && read -r known && exec "$@"`

/**
 * Imitates a pod whose containers share a process namespace. Process 1 imitates the pause process.
 * The first process of each container has parent 0 and its own mounts. One of these mounts imitates
 * the mount of the kubelet, with the name of the container. There is no kubelet, no container
 * runtime and no cgroup. The function needs root and Linux.
 *
 * Each pod has a folder of its own for temporary files. Open MPI keeps the files of a job in a
 * folder with the process id of mpirun, which is often the same in two pods; the first of two jobs
 * that ended would remove the files of the other.
 *
 * @param hasNetwork whether the pod has a network namespace of its own, without interfaces
 */
export async function startPod(hasNetwork = false): Promise<Pod> {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-pod-'))
  const temporary = openFolder('ridealong-tmp-')
  chmodSync(temporary, 0o1777)
  const setpriv = join(temporary, RUNTIME)
  symlinkSync(onPath('setpriv'), setpriv)
  mkdirSync(join(folder, 'dev'))
  const flags = ['--pid', '--fork', '--mount', '--mount-proc', '--kill-child']
  if (hasNetwork) flags.push('--net')
  const sandbox = spawn('unshare', [...flags, 'sh', '-c', PAUSE, folder], { stdio: 'inherit' })
  while (!isThere(join(folder, 'ready'))) await sleep(20)
  const pause = await childOf(sandbox)
  const children: ChildProcess[] = []
  const starts = new Map<string, ContainerStart>()
  return {
    pid: pause,
    run: async (name, argv, env = {}, as = {}) => {
      const log = join(folder, 'pods', '8d1e', 'containers', name)
      mkdirSync(log, { recursive: true })
      const start = starts.get(name) ?? { file: join(log, String(children.length)), running: 0 }
      starts.set(name, start)
      const { file } = start
      if (start.running === 0) writeFileSync(file, '', { mode: 0o666 })
      start.running += 1
      const words = [CONTAINER, 'sh', ...identify(setpriv, as), ...argv]
      const namespaces = hasNetwork ? ['-p', '-m', '-n'] : ['-p', '-m']
      const enter = ['-t', String(pause), ...namespaces, 'unshare', '--mount', 'sh', '-c', ...words]
      const variables = { PATH: process.env.PATH, TMPDIR: temporary, ...env }
      const child = spawn('nsenter', enter, { cwd: '/', env: variables })
      children.push(child)
      child.on('close', () => {
        start.running -= 1
        if (start.running === 0) starts.delete(name)
      })
      return running(child, file)
    },
    end: () => {
      if (isThere(`/proc/${pause}`)) process.kill(pause, 'SIGKILL')
      for (const child of children) child.kill('SIGKILL')
      for (const path of [folder, temporary]) rmSync(path, { recursive: true, force: true })
    },
  }
}

/** Starts a pod that ends when the test ends. */
export async function podOf(t: Pick<Test, 'teardown'>, hasNetwork = false): Promise<Pod> {
  const pod = await startPod(hasNetwork)
  t.teardown(pod.end)
  return pod
}

/** Returns the words that give a program its identity. @param setpriv the path of setpriv */
function identify(setpriv: string, as: Identity): readonly string[] {
  const { user, group, drops, keeps = [] } = as
  const flags = []
  if (user !== undefined) flags.push(`--reuid=${user}`, '--clear-groups')
  if (group !== undefined) flags.push(`--regid=${group}`)
  if (drops || keeps.length > 0) {
    const kept = keeps.map((capability) => `,+${capability}`).join('')
    flags.push(`--bounding-set=-all${kept}`, '--inh-caps=-all')
  }
  return flags.length === 0 ? [] : [setpriv, ...flags]
}

async function running(child: ChildProcess, file: string): Promise<Running> {
  const parts: Buffer[] = []
  child.stdout?.on('data', (part: Buffer) => parts.push(part))
  child.stderr?.on('data', (part: Buffer) => parts.push(part))
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  const pid = await childOf(child)
  while (nameOf(pid) !== RUNTIME) await sleep(5)
  await mountInto(pid, file)
  child.stdin?.end('known\n')
  return {
    pid,
    ended,
    log: () => Buffer.concat(parts).toString(),
    message: () => readFileSync(file, 'utf8'),
    signal: (name) => {
      process.kill(pid, name)
      // nsenter stops itself while its child is stopped (util-linux sys-utils/nsenter.c).
      if (name === 'SIGCONT') child.kill(name)
    },
  }
}

/**
 * Creates the mount whose path contains the name of the container, as the kubelet does. The process
 * that mounts is outside the pod: inside, an observer would count it as a process of the container.
 */
async function mountInto(pid: number, file: string): Promise<void> {
  const mount = ['mount', '--bind', file, '/dev/termination-log']
  await promisify(execFile)('nsenter', ['-t', String(pid), '-m', ...mount])
}

function nameOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
}

/** The process ids of the children of a process, in their order. */
export function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text
    .split(' ')
    .map(Number)
    .sort((one, other) => one - other)
}

/** Returns the only child of unshare or nsenter, which runs in the namespace. */
async function childOf({ pid }: ChildProcess): Promise<number> {
  for (;;) {
    const child = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    if (child !== '') return Number(child.split(' ')[0])
    await sleep(5)
  }
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/**
 * Waits until the log of a process matches, or the process has ended.
 *
 * @throws after `patienceMs`, five minutes by default
 */
export async function until(
  running: Running,
  pattern: RegExp | (() => boolean),
  patienceMs = 300_000,
): Promise<void> {
  const matches = typeof pattern === 'function' ? pattern : () => pattern.test(running.log())
  let isOver = false
  running.ended.then(() => {
    isOver = true
  })
  const waiting = { patienceMs, pauseMs: 20 }
  await untilTrue(`the log matches ${pattern}`, () => isOver || matches(), waiting)
}
