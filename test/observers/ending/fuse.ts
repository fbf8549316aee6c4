import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until as untilTrue } from '../../until.ts'
import { openFolder, type Pod, type Running } from '../pod.ts'
import { observerTests } from '../prerequisites.ts'

/**
 * The ways in which the server of a file system stops answering: it reads no requests, or it reads
 * them and does not answer. The kernel lets SIGKILL end a wait only before the request is read
 * (fs/fuse/dev.c, `request_wait_answer`).
 */
export const SILENCES = ['reads no requests', 'does not answer'] as const

export type Silence = (typeof SILENCES)[number]

/**
 * Returns the options of a test that mounts a file system of FUSE. If this machine has none, the
 * test is skipped with a message; with CI=true, it fails instead.
 */
export function fuseTests(): { readonly skip: false | string } {
  const options = observerTests()
  if (options.skip !== false || process.env.CI === 'true' || existsSync('/dev/fuse')) return options
  return { skip: 'this machine has no /dev/fuse' }
}

/** A file system with one file, `file`, and its server. */
export interface HangingMount {
  /** The path of the mount. */
  readonly path: string
  readonly silence: Silence
  /** Returns the words of a command that runs a program as soon as the file system is mounted. */
  afterMount(...program: readonly string[]): readonly string[]
  /** Mounts the file system in a container. Its server is another container of the pod. */
  mountIn(pod: Pod, container: Running): Promise<void>
  /** Mounts the file system on this machine. */
  mountHere(): Promise<MountHere>
  /** From now on, the server does not answer. */
  stop(): void
}

/** A file system that is mounted on this machine. */
export interface MountHere {
  /** Ends all waits for the server with an error, as an administrator can. */
  abort(): void
  /** Ends the server and removes the mount. */
  remove(): Promise<void>
}

const MACHINE = process.arch === 'x64' ? 'x86_64' : 'aarch64'
const LIBRARY = `/lib/${MACHINE}-linux-gnu/libm.so.6`

/** Prepares a file system at a path. Its file is a library. */
export function hangingMount(path: string, silence: Silence): HangingMount {
  const folder = openFolder('ridealong-fuse-')
  const [ready, stop] = [join(folder, 'ready'), join(folder, 'stop')]
  const server = (pid: string) => {
    return ['python3', '-c', SCRIPT, pid, path, LIBRARY, ready, stop, silence]
  }
  const waitScript = 'until [ -e "$0" ]; do sleep 0.05; done; exec "$@"'
  return {
    path,
    silence,
    afterMount: (...program) => ['sh', '-c', waitScript, ready, ...program],
    mountIn: async ({ run }, { pid }) => {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      const pidInPod = /^NSpid:.*\s(\d+)$/m.exec(status)?.[1] ?? ''
      await run('server', server(pidInPod))
    },
    mountHere: async () => {
      const [program = '', ...words] = server(String(process.pid))
      const daemon = spawn(program, words, { stdio: ['ignore', 'inherit', 'inherit'] })
      const exited = once(daemon, 'exit')
      await untilTrue('the file system is mounted', () => existsSync(ready))
      return {
        abort: () => abortConnection(path),
        remove: async () => {
          daemon.kill('SIGKILL')
          await exited
          execFileSync('umount', ['--lazy', path])
        },
      }
    },
    stop: () => writeFileSync(stop, ''),
  }
}

/**
 * Ends all waits for the server of a mount, by the file `abort` of its connection
 * (Documentation/filesystems/fuse, "Control filesystem"). The name of a connection is the minor
 * number of the device.
 */
function abortConnection(path: string): void {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  const mount = mounts.map((line) => line.split(' ')).find(([, , , , point]) => point === path)
  const minor = mount?.[2]?.split(':')[1] ?? ''
  const control = openFolder('ridealong-fusectl-')
  execFileSync('mount', ['-t', 'fusectl', 'none', control])
  try {
    writeFileSync(join(control, minor, 'abort'), '1')
  } finally {
    execFileSync('umount', [control])
  }
}

/** The server, in Python. It implements the protocol of <linux/fuse.h>, version 7.31. */
const SCRIPT = `
import ctypes, errno, os, select, stat, struct, sys, time
pid, path, source, ready, stop, silence = sys.argv[1:]
if not os.path.exists('/dev/fuse'): os.mknod('/dev/fuse', stat.S_IFCHR | 0o600, os.makedev(10, 229))
device = os.open('/dev/fuse', os.O_RDWR)
data = f'fd={device},rootmode=40000,user_id=0,group_id=0,allow_other'.encode()
libc = ctypes.CDLL(None, use_errno=True)
mounting = os.fork()
if mounting == 0:
    assert libc.setns(os.open(f'/proc/{pid}/ns/mnt', os.O_RDONLY), 0) == 0
    os._exit(libc.mount(b'none', path.encode(), b'fuse', 0, data))
assert os.waitpid(mounting, 0)[1] == 0
open(ready, 'w').close()
INIT, LOOKUP, FORGET, GETATTR, OPEN, READ, FLUSH = 26, 1, 2, 3, 14, 15, 25
OPENDIR, RELEASE, RELEASEDIR, INTERRUPT, BATCH_FORGET = 27, 18, 29, 36, 42
content = open(source, 'rb').read()
def attributes(node):
    mode = stat.S_IFDIR | 0o755 if node == 1 else stat.S_IFREG | 0o755
    size = 4096 if node == 1 else len(content)
    return struct.pack('<6Q10I', node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
def answer(opcode, node, body):
    if opcode == INIT:
        return struct.pack('<4I2H2I2HI28x', 7, 31, 0, 0, 12, 9, 65536, 1, 0, 0, 0)
    if opcode == LOOKUP:
        if node != 1 or body != b'file\\0': return -errno.ENOENT
        return struct.pack('<4Q2I', 2, 0, 0, 0, 0, 0) + attributes(2)
    if opcode == GETATTR: return struct.pack('<Q2I', 0, 0, 0) + attributes(node)
    if opcode in (OPEN, OPENDIR): return struct.pack('<Q2I', 1, 0, 0)
    if opcode == READ:
        offset, size = struct.unpack_from('<QI', body, 8)
        return content[offset:offset + size]
    if opcode in (FLUSH, RELEASE, RELEASEDIR): return b''
    return -errno.ENOSYS
has_begun = False
while True:
    readable = select.select([device], [], [], 0.02)[0]
    is_silent = has_begun and os.path.exists(stop)
    if is_silent and silence == 'reads no requests':
        time.sleep(1)
        continue
    if not readable: continue
    try:
        request = os.read(device, 1 << 17)
    except OSError as error:
        if error.errno == errno.ENODEV: sys.exit()
        continue
    if is_silent: continue
    _, opcode, unique, node = struct.unpack_from('<2I2Q', request)
    if opcode in (FORGET, BATCH_FORGET, INTERRUPT): continue
    has_begun = True
    found = answer(opcode, node, request[40:])
    code, rest = (found, b'') if isinstance(found, int) else (0, found)
    try:
        os.write(device, struct.pack('<IiQ', 16 + len(rest), code, unique) + rest)
    except OSError:
        pass
`

/** Whether the first thread of a process waits for a server of FUSE, in any state. */
export function waitsForFuse(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/wchan`, 'utf8') === 'request_wait_answer'
  } catch {
    return false
  }
}
