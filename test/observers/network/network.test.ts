import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { mismatchesIn, noticesOf, rowsOf } from '../json-rows.ts'
import { type Identity, observer, type Pod, type Running, until } from '../pod.ts'
import { observerTests, summaryOf } from '../prerequisites.ts'
import { networkPodOf, withNetworks } from './pod-network.ts'

const options = withNetworks(observerTests())
const NATIVE = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const TALK = fileURLToPath(new URL('talk.py', import.meta.url))
const SERVE = ['python3', TALK, 'serve', '7000', '1']
const KEEP = ['python3', TALK, ...'keep 127.0.0.1 7000 1 1000 2000'.split(' ')]

/** The settings NATIVE with a target-command, which matches only the processes of talk.py. */
const MATCHING = { ...NATIVE, RIDEALONG_TARGET_COMMAND: '^talk.py$' }

const SECTIONS = {
  interface: [
    ...'interface scope rx_bytes tx_bytes rx_packets tx_packets'.split(' '),
    ...'rx_errors tx_errors rx_dropped tx_dropped'.split(' '),
  ],
  tcp: [
    ...'scope in_segments out_segments retransmitted attempt_fails estab_resets'.split(' '),
    ...'in_errors timeouts listen_drops'.split(' '),
  ],
  socket: [
    ...'pid peer sockets send_queue receive_queue rtt'.split(' '),
    ...'bytes_sent bytes_received retransmitted container program'.split(' '),
  ],
}

/** Waits until the section `socket` has a row, and then for two more timepoints. */
async function untilRows(watching: Running): Promise<void> {
  await until(watching, () => rowsOf(watching, 'socket').length > 0)
  const before = rowsOf(watching, 'tcp').length
  await until(watching, () => rowsOf(watching, 'tcp').length >= before + 2)
}

/** Starts a server and an application, and waits until the application has received its answer. */
async function exchange({ run }: Pod): Promise<void> {
  const server = await run('server', SERVE)
  await until(server, /listening/)
  const app = await run('app', KEEP)
  await until(app, /exchanged/)
}

/** Runs an observer with the settings MATCHING and others during an exchange. */
async function watchExchange(pod: Pod, env = {}, user?: Identity): Promise<Running> {
  const watching = await pod.run('network', [observer('network')], { ...MATCHING, ...env }, user)
  await exchange(pod)
  await untilRows(watching)
  watching.signal('SIGTERM')
  await watching.ended
  return watching
}

t.test('the log has rows of interfaces, of TCP and of each process by peer', options, async (t) => {
  const { pid, run } = await networkPodOf(t)
  await run('perf-sysstat', [observer('perf-sysstat')], NATIVE)
  const server = await run('other', SERVE)
  await until(server, /listening/)
  const watching = await run('network', [observer('network')], { ...NATIVE, POD_NAME: 'lammps-0' })
  const app = await run('app', KEEP)
  await until(app, /exchanged/)
  await untilRows(watching)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(watching.log(), /^METADATA START \{.*"metricName":"network".*"scope":"pod"/m)
  for (const [section, columns] of Object.entries(SECTIONS)) {
    t.ok(rowsOf(watching, section).length > 0, section)
    for (const row of rowsOf(watching, section)) {
      t.strictSame(Object.keys(row), ['time', 'section', ...columns], section)
      t.match(row.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    }
  }
  t.strictSame(mismatchesIn(watching, 'network'), [])
  const sockets = rowsOf(watching, 'socket')
  t.strictSame(
    new Set(sockets.map(({ container, program, peer }) => `${container} ${program} ${peer}`)),
    new Set(['app talk.py pod']),
    'only the processes of the target have rows',
  )
  t.match(sockets.at(-1), { sockets: 1, bytes_sent: 1016, bytes_received: 2000 })
  t.type(sockets.at(-1)?.rtt, 'number')
  const interfaces = new Set(rowsOf(watching, 'interface').map((row) => row.interface))
  t.strictSame([...interfaces], ['lo'])
  const scopes = [...rowsOf(watching, 'interface'), ...rowsOf(watching, 'tcp')]
  t.ok(scopes.every(({ scope }) => scope === 'pod'))
  const lines = readFileSync(`/proc/${pid}/net/netstat`, 'utf8').split('\n')
  const [names = [], values = []] = lines.map((line) => line.split(' '))
  const last = rowsOf(watching, 'tcp').at(-1)
  t.equal(last?.listen_drops, Number(values[names.indexOf('ListenDrops')]))
  t.strictSame(noticesOf(watching), [])
  const [whole, ...programs] = summaryOf(watching.log())
  t.match(whole, { metric: 'network', pod: 'lammps-0', scope: 'pod', bytes_sent: 1016 })
  t.match(programs[0], { program: 'talk.py', bytes_sent: 1016, bytes_received: 2000 })
})

t.test('with a target-command, all matching processes of the pod have rows', options, async (t) => {
  const pod = await networkPodOf(t)
  const watching = await pod.run('network', [observer('network')], MATCHING)
  await exchange(pod)
  await until(watching, () => {
    const found = new Set(rowsOf(watching, 'socket').map(({ container }) => container))
    return found.has('app') && found.has('server')
  })
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
})

t.test('if sockets cannot be read, values are null and one notice says why', options, async (t) => {
  const user = { user: 65_532, group: 65_532 }
  const watching = await watchExchange(await networkPodOf(t), {}, user)
  t.equal(await watching.ended, 0)
  const last = rowsOf(watching, 'socket').at(-1)
  t.strictSame(Object.keys(last ?? {}), ['time', 'section', ...SECTIONS.socket])
  for (const column of SECTIONS.socket.slice(1, -2)) t.equal(last?.[column], null, column)
  t.strictSame(mismatchesIn(watching, 'network'), [])
  t.type(rowsOf(watching, 'tcp').at(-1)?.in_segments, 'number')
  const reason = 'the sockets of a process cannot be read: Permission denied'
  t.strictSame(noticesOf(watching), [reason])
  const unknown = { bytes_sent: null, bytes_received: null, retransmitted: null }
  t.match(summaryOf(watching.log()), [{ metric: 'network', ...unknown }, unknown])
})

t.test('root reads the sockets of a process as the user of the process', options, async (t) => {
  const { run } = await networkPodOf(t)
  const root = { keeps: ['setuid', 'setgid'] }
  const env = { ...NATIVE, RIDEALONG_TARGET_COMMAND: '^sleep$' }
  const watching = await run('network', [observer('network')], env, root)
  const server = await run('server', SERVE)
  await until(server, /listening/)
  const connect = 'exec 3<>/dev/tcp/127.0.0.1/7000; exec sleep 600'
  await run('app', ['bash', '-c', connect], {}, { user: 1234, group: 5678 })
  await untilRows(watching)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(rowsOf(watching, 'socket').at(-1), { peer: 'pod', sockets: 1 })
  t.strictSame(noticesOf(watching), [])
})

/**
 * Runs a program in which a system call fails if one of its arguments has a value. The arguments of
 * this script are the number of the call on x86_64 and on aarch64, the index and the value of the
 * argument, the error, and the program with its arguments.
 */
const WITH_FAILING_CALL = `
import ctypes, os, struct, sys
x86, arm, index, value, error = map(int, sys.argv[1:6])
call = {'x86_64': x86, 'aarch64': arm}[os.uname().machine]
steps = [(0x20, 0, 0, 0), (0x15, 0, 3, call), (0x20, 0, 0, 16 + 8 * index), (0x15, 0, 1, value),
         (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('=HBBI', *step) for step in steps))
program = struct.pack('@HP', len(steps), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[6], sys.argv[6:])`

for (const [title, call, reason] of [
  // The call socket(2) and AF_NETLINK.
  ['with a seccomp profile without sock_diag', '41 198 0 16 13', 'Permission denied'],
  // The call write(2) and the bytes of a request for sockets.
  ['with a kernel without sock_diag', '1 64 2 76 95', 'this kernel has no sock_diag for TCP'],
] as const) {
  t.test(`${title}, only the sockets are null`, options, async (t) => {
    const { run } = await networkPodOf(t)
    const argv = ['python3', '-c', WITH_FAILING_CALL, ...call.split(' '), observer('network')]
    const watching = await run('network', argv, MATCHING)
    await run('app', SERVE)
    await untilRows(watching)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    t.match(rowsOf(watching, 'socket').at(-1), { program: 'talk.py', peer: null, bytes_sent: null })
    t.type(rowsOf(watching, 'tcp').at(-1)?.in_segments, 'number')
    t.strictSame(noticesOf(watching), [`the sockets of processes cannot be read: ${reason}`])
    t.match(summaryOf(watching.log()), [{ bytes_sent: null }, { bytes_sent: null }])
  })
}

t.test(
  'sockets that were closed before the application began are not counted',
  options,
  async (t) => {
    const { run } = await networkPodOf(t)
    const watching = await run('network', [observer('network')], {
      ...NATIVE,
      RIDEALONG_TARGET_COMMAND: '^sleep$',
    })
    await until(watching, /waiting for/)
    const server = await run('server', ['python3', TALK, 'serve', '7000', '20'])
    await until(server, /listening/)
    await run('other', ['python3', TALK, ...'once 127.0.0.1 7000 20 1000 1000'.split(' ')])
    await until(server, /answered/)
    // The observer waits once after each scan.
    const before = waitsOf(watching.pid)
    await until(watching, () => waitsOf(watching.pid) >= before + 3)
    await run('app', ['sleep', '600'])
    await until(watching, () => rowsOf(watching, 'tcp').length >= 2)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    t.strictSame(noticesOf(watching), [])
    const [whole] = summaryOf(watching.log())
    t.match(whole, { bytes_sent: 0, unaccounted_bytes_sent: undefined })
  },
)

/** How often a process has waited. */
function waitsOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(status.match(/^voluntary_ctxt_switches:\s+(\d+)/m)?.[1])
}

/** Sends 5000 bytes after SIGUSR1. */
const SEND = `
import signal, socket
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
listener = socket.create_server(('127.0.0.1', 7000))
print('listening', flush=True)
one, _ = listener.accept()
signal.sigwait([signal.SIGUSR1])
one.sendall(bytes(5000))
signal.sigwait([signal.SIGUSR1])`

/** Opens a socket, and after SIGUSR1 executes another program with this socket. */
const EXECUTE = `
import os, signal, socket
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
one = socket.create_connection(('127.0.0.1', 7000))
one.set_inheritable(True)
signal.sigwait([signal.SIGUSR1])
os.execvp('sleep', ['sleep', '600'])`

t.test('a socket stays with the program that opened it', options, async (t) => {
  const { run } = await networkPodOf(t)
  const env = { ...NATIVE, RIDEALONG_TARGET_COMMAND: '^python3$' }
  const watching = await run('network', [observer('network')], env)
  const server = await run('server', ['python3', '-c', SEND])
  await until(server, /listening/)
  const app = await run('app', ['python3', '-c', EXECUTE])
  await until(watching, () =>
    rowsOf(watching, 'socket').some(({ container }) => container === 'app'),
  )
  app.signal('SIGUSR1')
  await untilRows(watching)
  server.signal('SIGUSR1')
  await untilRows(watching)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const programs = summaryOf(watching.log()).slice(1)
  t.ok(programs.every(({ program }) => program === 'python3'))
  t.equal(programs.find(({ container }) => container === 'app')?.bytes_received, 5000)
})

t.test('the network of a node is marked', options, async (t) => {
  const env = { RIDEALONG_HOST_NETWORK: 'true' }
  const watching = await watchExchange(await networkPodOf(t), env)
  t.equal(await watching.ended, 0)
  t.match(watching.log(), /^METADATA START .*"scope":"node"/m)
  t.equal(rowsOf(watching, 'tcp').at(-1)?.scope, 'node')
  t.equal(rowsOf(watching, 'interface').at(-1)?.scope, 'node')
  t.match(rowsOf(watching, 'socket').at(-1), { peer: 'pod' })
})

/** Imitates a device with a port that lacks the counter port_xmit_discards; starts a program. */
const WITH_DEVICE = `
mount -t tmpfs none /sys/class
port=/sys/class/infiniband/mlx5_0/ports/1/counters
mkdir -p $port
echo 250 >$port/port_rcv_data
echo 500 >$port/port_xmit_data
echo 3 >$port/port_rcv_packets
echo 4 >$port/port_xmit_packets
echo 0 >$port/port_rcv_errors
echo 5 >$port/symbol_error
exec "$0"`

t.test('the ports of InfiniBand devices have rows', options, async (t) => {
  const { run } = await networkPodOf(t)
  const argv = ['sh', '-c', WITH_DEVICE, observer('network')]
  const watching = await run('network', argv, NATIVE)
  await run('app', ['sleep', '60'])
  await until(watching, () => rowsOf(watching, 'infiniband').length >= 2)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const { time, ...row } = rowsOf(watching, 'infiniband').at(-1) ?? {}
  t.type(time, 'string')
  t.strictSame(row, {
    section: 'infiniband',
    device: 'mlx5_0',
    port: 1,
    scope: 'node',
    rx_bytes: 1000,
    tx_bytes: 2000,
    rx_packets: 3,
    tx_packets: 4,
    port_rcv_errors: 0,
    port_xmit_discards: null,
    symbol_error: 5,
  })
  t.strictSame(mismatchesIn(watching, 'network'), [])
  t.strictSame(noticesOf(watching), ['port_xmit_discards of mlx5_0 cannot be read'])
})
