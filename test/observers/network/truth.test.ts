import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { noticesOf, rowsOf } from '../json-rows.ts'
import { observer, type Pod, type Running, until } from '../pod.ts'
import { observerTests, type Row, summaryOf } from '../prerequisites.ts'
import {
  ADDRESSES,
  childWithInnerId,
  interfaceBytes,
  ip,
  joinedPodsOf,
  networkPodOf,
  tcpCounter,
  withNetworks,
} from './pod-network.ts'

// Compares the rows with the bytes that the processes report, and with the counters of the kernel.
// Each pod has a network namespace, so that no other traffic of this machine is counted. The
// processes stop sending before the last row, so that all numbers describe the same moment.

const RATE = 0.5
const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: String(RATE) }
const options = { ...withNetworks(observerTests()), timeout: 800_000 }
const TALK = fileURLToPath(new URL('talk.py', import.meta.url))
const [ONE, TWO] = ADDRESSES
const MEGA = 1_000_000

/** A line that talk.py prints. */
interface Report {
  readonly what: string
  readonly pid: number
  readonly peers: Readonly<Record<string, { readonly sent: number; readonly received: number }>>
  readonly rtts?: readonly number[]
}

function reportsOf({ log }: Running, what: string): readonly Report[] {
  const lines = log().split('\n').slice(0, -1)
  return lines.map((line): Report => JSON.parse(line)).filter((report) => report.what === what)
}

/** Waits until `count` lines of the kind `what` are printed, and returns all lines of this kind. */
async function reports(app: Running, what: string, count = 1): Promise<readonly Report[]> {
  await until(app, () => reportsOf(app, what).length >= count)
  return reportsOf(app, what)
}

/** Runs talk.py in the container `app` of a pod, once for each of the argument lists `lines`. */
function talk({ run }: Pod, ...lines: readonly string[]): Promise<Running> {
  const commands = lines.map((line) => `python3 ${TALK} ${line} &`)
  return run('app', ['sh', '-c', `${commands.join(' ')} wait`])
}

/** Starts the observer, and returns when the kernel tells it about sockets that are closed. */
async function watch({ run }: Pod, env: NodeJS.ProcessEnv = {}): Promise<Running> {
  const watching = await run('network', [observer('network')], { ...ENV, ...env })
  await until(watching, /waiting for/)
  return watching
}

/** Waits for more timepoints, and returns the last row of each pair of a talk.py and a peer. */
async function lastSockets(watching: Running): Promise<readonly Row[]> {
  const before = rowsOf(watching, 'tcp').length
  await until(watching, () => rowsOf(watching, 'tcp').length >= before + 3)
  const last = new Map(
    rowsOf(watching, 'socket').map((row) => [`${row.program} ${row.pid} ${row.peer}`, row]),
  )
  return [...last.values()].filter(({ program }) => program === 'talk.py')
}

async function end(t: Test, ...all: readonly Running[]): Promise<void> {
  for (const watching of all) {
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
  }
}

/** Sums the bytes that a process reports by the names that peers have in the rows. */
function peersOf({ peers }: Report): ReadonlyMap<string, { sent: number; received: number }> {
  const loopback = new Set(['127.0.0.1', '::1'])
  const sums = new Map<string, { sent: number; received: number }>()
  for (const [address, { sent, received }] of Object.entries(peers)) {
    const peer = loopback.has(address) ? 'pod' : address
    const before = sums.get(peer) ?? { sent: 0, received: 0 }
    sums.set(peer, { sent: before.sent + sent, received: before.received + received })
  }
  return sums
}

/**
 * Allows a difference of one percent and ten bytes, because TCP counts the end of each connection
 * as a received byte.
 */
function isNear(t: Test, found: unknown, expected: number, what: string): void {
  const difference = Math.abs(Number(found) - expected)
  t.ok(difference <= 0.01 * expected + 10, `bytes ${what}: ${found} instead of ${expected}`)
}

function compare(t: Test, rows: readonly Row[], report: Report): void {
  const ofProcess = rows.filter(({ pid }) => pid === report.pid)
  const peers = peersOf(report)
  t.strictSame(ofProcess.map(({ peer }) => String(peer)).sort(), [...peers.keys()].sort())
  for (const [peer, { sent, received }] of peers) {
    const row = ofProcess.find((row) => row.peer === peer)
    isNear(t, row?.bytes_sent, sent, `sent to ${peer}`)
    isNear(t, row?.bytes_received, received, `received from ${peer}`)
  }
}

t.test('rows have the bytes of each process and peer, also over loopback', options, async (t) => {
  const [first, two] = await joinedPodsOf(t)
  const watching = [await watch(first), await watch(two)] as const
  // Each connection has one exchange, whose reply has another size than the request.
  const servers = await talk(
    first,
    'serve 7000 10',
    `keep 127.0.0.1 7000 2 ${3 * MEGA} ${MEGA} ::1 7000 1 ${MEGA} 500`,
    `keep ${TWO.v4} 7000 1 ${2 * MEGA} ${4 * MEGA}`,
  )
  const clients = await talk(
    two,
    'serve 7000 1',
    `keep ${ONE.v4} 7000 3 ${2 * MEGA} ${MEGA} ${ONE.v6} 7000 1 ${5 * MEGA} 0`,
    `keep ${ONE.v6} 7000 3 ${4 * MEGA} 100`,
  )
  const exchanged = [
    await reports(servers, 'exchanged', 2),
    await reports(clients, 'exchanged', 2),
  ] as const
  const answered = [await reports(servers, 'answered'), await reports(clients, 'answered')] as const
  const rows = [await lastSockets(watching[0]), await lastSockets(watching[1])] as const
  await end(t, ...watching)
  for (const index of [0, 1] as const) {
    const all = [...exchanged[index], ...answered[index]]
    t.equal(new Set(all.map(({ pid }) => pid)).size, 3)
    for (const report of all) compare(t, rows[index], report)
    const sent = all.flatMap(({ peers }) => Object.values(peers)).map(({ sent }) => sent)
    const program = summaryOf(watching[index].log()).find(({ program }) => program === 'talk.py')
    isNear(t, program?.bytes_sent, sum(sent), 'sent by the program')
    t.strictSame(noticesOf(watching[index]), [])
  }
  const counts = rows[0].map(({ peer, sockets }) => `${peer} ${sockets}`).sort()
  const expected = [`${TWO.v4} 1`, `${TWO.v4} 3`, `${TWO.v6} 4`, 'pod 3', 'pod 3']
  t.strictSame(counts, expected.sort(), 'each process has a row for its end of the connections')
  t.ok(
    rows.flat().every(({ send_queue, receive_queue }) => send_queue === 0 && receive_queue === 0),
  )
  for (const [index, pod] of [first, two].entries()) {
    countsInterface(t, pod, watching[index] as Running, rows[index] ?? [])
  }
})

/** Compares the rows of the interface eth0 with the kernel and with the rows of the sockets. */
function countsInterface(t: Test, pod: Pod, watching: Running, rows: readonly Row[]): void {
  const eth0 = rowsOf(watching, 'interface').findLast((row) => row.interface === 'eth0')
  const [received, sent] = interfaceBytes(pod, 'eth0')
  isNear(t, eth0?.rx_bytes, received, 'received by eth0')
  isNear(t, eth0?.tx_bytes, sent, 'sent by eth0')
  const outside = rows.filter(({ peer }) => peer !== 'pod')
  const bytes = sum(outside.map((row) => Number(row.bytes_sent)))
  t.ok(Number(eth0?.tx_bytes) > bytes, 'the bytes of eth0 include the headers of packets')
}

t.test(
  'all bytes of a socket are in the rows if the socket is closed between two samples',
  options,
  async (t) => {
    const [client, two] = await joinedPodsOf(t)
    const server = await talk(two, 'serve 7000 6')
    await reports(server, 'listening')
    const app = await talk(client, `keep ${TWO.v4} 7000 3 ${MEGA} 0`)
    const [before] = await reports(app, 'exchanged')
    const watching = [await watch(client), await watch(two)] as const
    for (const each of watching) await lastSockets(each)
    process.kill(childWithInnerId(app.pid, Number(before?.pid)), 'SIGUSR1')
    const closed = await reports(app, 'closed')
    const answered = await reports(server, 'answered')
    const rows = [await lastSockets(watching[0]), await lastSockets(watching[1])] as const
    await end(t, ...watching)
    compare(t, rows[0], closed[0] as Report)
    compare(t, rows[1], answered[0] as Report)
    t.equal(rows[0][0]?.bytes_sent, 3 * 2 * (MEGA + 16))
    t.equal(rows[0][0]?.sockets, 0)
    for (const each of watching) t.strictSame(noticesOf(each), [])
  },
)

/**
 * Sends 1000 bytes, and after SIGUSR1 50,000 more. The other end closes without reading these,
 * which resets the connection. After another SIGUSR1, closes the socket.
 */
const RESET = `
import signal, socket
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
listener = socket.create_server(('127.0.0.1', 7000))
one = socket.create_connection(('127.0.0.1', 7000))
other, _ = listener.accept()
def exchange(length, flags=0):
    one.sendall(bytes(length))
    other.recv(length, socket.MSG_WAITALL | flags)
exchange(1000)
print('open', flush=True)
signal.sigwait([signal.SIGUSR1])
exchange(50000, socket.MSG_PEEK)
other.close()
print('reset', flush=True)
signal.sigwait([signal.SIGUSR1])
one.close()
print('closed', flush=True)
signal.sigwait([signal.SIGUSR1])`

t.test('a socket whose connection was reset counts once, to its last byte', options, async (t) => {
  const pod = await networkPodOf(t)
  const watching = await watch(pod)
  const app = await pod.run('app', ['python3', '-c', RESET])
  await until(app, /open/)
  await until(watching, () => rowsOf(watching, 'socket').length > 0)
  app.signal('SIGUSR1')
  await until(app, /reset/)
  await lastSockets(watching)
  app.signal('SIGUSR1')
  await until(app, /closed/)
  await lastSockets(watching)
  await end(t, watching)
  const expected = { peer: 'pod', sockets: 0, bytes_sent: 51_000, bytes_received: 51_000 }
  t.match(rowsOf(watching, 'socket').at(-1), expected)
  const [whole] = summaryOf(watching.log())
  const bytes = { bytes_sent: 51_000, bytes_received: 51_000, unaccounted_bytes_sent: undefined }
  t.match(whole, bytes)
  t.strictSame(noticesOf(watching), [])
})

t.test('connections of any length are in the rows, or unaccounted', options, async (t) => {
  const pod = await networkPodOf(t)
  const watching = await watch(pod)
  const app = await talk(pod, 'serve 7000 300', `once 127.0.0.1 7000 300 ${MEGA / 10} 10`)
  const all = [...(await reports(app, 'exchanged')), ...(await reports(app, 'answered'))]
  await lastSockets(watching)
  await end(t, watching)
  const said = all.flatMap(({ peers }) => Object.values(peers))
  const [whole = {}] = summaryOf(watching.log())
  const sent = Number(whole.bytes_sent) + Number(whole.unaccounted_bytes_sent ?? 0)
  const received = Number(whole.bytes_received) + Number(whole.unaccounted_bytes_received ?? 0)
  isNear(t, sent, sum(said.map(({ sent }) => sent)), 'sent')
  isNear(t, received, sum(said.map(({ received }) => received)), 'received')
  t.ok(Number(whole.unaccounted_bytes_sent) > 0, 'some connections end before a sample finds them')
  t.match(
    noticesOf(watching).join('\n'),
    /\d+ sockets with \d+ bytes were closed before their proc/,
  )
})

t.test('segments that are lost and sent again are counted as retransmitted', options, async (t) => {
  const [client, two] = await joinedPodsOf(t)
  const server = await talk(two, 'serve 7000 2')
  await reports(server, 'listening')
  const app = await talk(client, `keep ${TWO.v4} 7000 1 ${MEGA / 5} 1000`)
  const [before] = await reports(app, 'exchanged')
  const watching = await watch(client)
  const [idle] = await lastSockets(watching)
  t.equal(idle?.rtt, Number(before?.rtts?.[0]) / 1000, 'rtt is the time that the process reads')
  t.equal(idle?.retransmitted, tcpCounter(client, 'RetransSegs'))
  // The other pod ignores Ethernet frames with this address, so that segments are lost.
  ip(client, `neighbour replace ${TWO.v4} lladdr 02:00:00:00:00:99 nud permanent dev eth0`)
  process.kill(childWithInnerId(app.pid, Number(before?.pid)), 'SIGUSR1')
  await until(watching, () => {
    const last = rowsOf(watching, 'socket').findLast(({ peer }) => peer === TWO.v4)
    return Number(last?.retransmitted) >= Number(idle?.retransmitted) + 3
  })
  const lost = rowsOf(watching, 'socket').findLast(({ peer }) => peer === TWO.v4)
  t.ok(Number(lost?.send_queue) > 0, 'send_queue counts the bytes that are not acknowledged')
  ip(client, `neighbour delete ${TWO.v4} dev eth0`)
  const closed = await reports(app, 'closed')
  await reports(server, 'answered')
  const rows = await lastSockets(watching)
  await end(t, watching)
  compare(t, rows, closed[0] as Report)
  const again = tcpCounter(client, 'RetransSegs')
  t.equal(rows[0]?.retransmitted, again, 'retransmitted is the number that the kernel counts')
  const tcp = rowsOf(watching, 'tcp').at(-1)
  t.equal(tcp?.retransmitted, again)
  t.equal(tcp?.in_segments, tcpCounter(client, 'InSegs'))
  t.equal(tcp?.out_segments, tcpCounter(client, 'OutSegs'))
  t.ok(Number(tcp?.timeouts) >= 1)
  const program = summaryOf(watching.log()).find(({ program }) => program === 'talk.py')
  t.equal(program?.retransmitted, again)
})

t.test('bytes that a process does not read are in receive_queue', options, async (t) => {
  const pod = await networkPodOf(t)
  const watching = await watch(pod)
  const app = await talk(pod, 'ignore 7000', 'keep 127.0.0.1 7000 2 20000 0')
  const [ignoring] = await reports(app, 'listening')
  await reports(app, 'exchanged')
  const rows = await lastSockets(watching)
  await end(t, watching)
  const row = rows.find(({ pid }) => pid === ignoring?.pid)
  t.match(row, { peer: 'pod', sockets: 2, receive_queue: 2 * 20_016, bytes_received: 2 * 20_016 })
})

t.test('the socket of a process with many open files has a row', options, async (t) => {
  const pod = await networkPodOf(t)
  const watching = await watch(pod)
  const open = `
import os, resource, runpy, sys
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
null = os.open('/dev/null', os.O_RDONLY)
for _ in range(min(most, 9000) - 100): os.dup(null)
sys.argv = ['talk.py', 'keep', '127.0.0.1', '7000', '1', '${MEGA}', '0']
runpy.run_path('${TALK}')`
  const app = await pod.run('app', [
    ...['sh', '-c', `python3 ${TALK} serve 7000 1 & exec python3 -c "$0"`, open],
  ])
  const [sender] = await reports(app, 'exchanged')
  await reports(app, 'answered')
  const rowOf = () => rowsOf(watching, 'socket').findLast(({ pid }) => pid === sender?.pid)
  // The first row may be of the time before the exchange.
  await until(watching, () => Number(rowOf()?.bytes_sent) >= MEGA + 16)
  t.match(rowOf(), { peer: 'pod', bytes_sent: MEGA + 16 })
  await end(t, watching)
})

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, number) => all + number, 0)
}
