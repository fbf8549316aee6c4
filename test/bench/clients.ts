/**
 * Measures how a server with default settings treats hostile clients: `npm run bench:clients`. The
 * measurement takes three minutes and needs Linux. It prints the seconds until the server closes a
 * connection without a complete request. Then it prints the memory of the server, and the time of
 * ordinary reviews, while hostile clients are connected.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { makeAuthority, writeKeyPair } from '../../certs/make.ts'
import { CASE_NAMESPACES } from '../cases/read.ts'
import { until } from '../until.ts'
import { ASKING, call, openSocket, post, reviewOf, verdictOf } from '../webhook/server.ts'

const BODY = 6_900_000
const SECONDS = 20
const PORT = 18_443
const STATUS_PORT = 18_080

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))

const HEAD = 'POST /mutate/pods HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
const HALF_HEADER = 'POST /mutate/pods HTTP/1.1\r\nHost: loc'
const HALF_BODY = `${HEAD}Content-Length: 1000\r\n\r\n{"kind":`

const REVIEW = JSON.stringify(reviewOf(ASKING))

const print = (line: string) => process.stdout.write(`${line}\n`)

/**
 * Starts the server, calls an action with the process id and the CA of the server, and stops the
 * server.
 */
async function withServer(action: (pid: number, ca: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-clients-'))
  const authority = await makeAuthority()
  await writeKeyPair(folder, authority, { names: ['localhost', '127.0.0.1'] })
  const ports = ['--port', `${PORT}`, '--status-port', `${STATUS_PORT}`, '--host', '127.0.0.1']
  const files = ['--cert', join(folder, 'tls.crt'), '--key', join(folder, 'tls.key')]
  const words = [MAIN, 'serve', ...ports, ...files, '--namespaces', CASE_NAMESPACES]
  const child: ChildProcess = spawn(process.execPath, words, {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  try {
    await until('the server is ready', async () => {
      const answer = await call({ port: STATUS_PORT, path: '/readyz' }).catch(() => undefined)
      return answer?.status === 200
    })
    await action(child.pid ?? 0, authority.ca)
  } finally {
    process.off('exit', kill)
    kill()
    await rm(folder, { recursive: true })
  }
}

async function openPlain(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Resolves when a connection is closed, also after an error. */
function closing(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => socket.resume().once('close', resolve))
}

/** Sends a part of a request, and prints the seconds until the server closes the connection. */
async function timeCut(what: string, socket: Socket, half: string): Promise<void> {
  const start = performance.now()
  const closed = closing(socket)
  socket.write(half)
  await closed
  print(`${what.padEnd(32)} ${((performance.now() - start) / 1000).toFixed(1)} s`)
}

async function printCuts(ca: string): Promise<void> {
  await Promise.all([
    timeCut('HTTPS, no handshake', await openPlain(PORT), ''),
    timeCut('HTTPS, no request', await openSocket(PORT, ca), ''),
    timeCut('HTTPS, half a header', await openSocket(PORT, ca), HALF_HEADER),
    timeCut('HTTPS, half a body', await openSocket(PORT, ca), HALF_BODY),
    timeCut('status port, no request', await openPlain(STATUS_PORT), ''),
    timeCut('status port, half a header', await openPlain(STATUS_PORT), HALF_HEADER),
    timeCut('status port, half a body', await openPlain(STATUS_PORT), HALF_BODY),
  ])
}

/** Returns the resident memory of a process in megabytes. */
async function residentOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6
}

/**
 * Opens one connection after the other until the thread ends. Calls `act` with each connection, and
 * waits until the connection is closed.
 */
async function repeat(ca: string, act: (socket: Socket) => void): Promise<never> {
  for (;;) {
    const socket = await openSocket(PORT, ca).catch(() => undefined)
    if (socket === undefined) continue
    const closed = closing(socket)
    act(socket)
    await closed
  }
}

const BLANKS = Buffer.alloc(BODY, ' ')
const ACCENTS = Buffer.from(`{"a":"${'é'.repeat(BODY)}`)
const OBJECTS = Buffer.from(`[${'{},'.repeat(BODY / 3 - 1)}{}]`)

function send(socket: Socket, body: Buffer): void {
  socket.write(`${HEAD}Content-Length: ${BODY}\r\n\r\n`)
  socket.write(body)
}

/** Sends a body without its last byte, and keeps the connection open. */
function hold(body: Buffer): (socket: Socket) => void {
  return (socket) => send(socket, body.subarray(0, BODY - 1))
}

/** Sends a whole body, and closes the connection after the answer. */
function sendWhole(body: Buffer): (socket: Socket) => void {
  return (socket) => {
    socket.once('data', () => socket.destroy())
    send(socket, body.subarray(0, BODY))
  }
}

/** The number of hostile clients and the action of each client, by the title of the scene. */
const SCENES: Readonly<Record<string, readonly [number, (socket: Socket) => void]>> = {
  none: [0, () => {}],
  '80 hold 6.9 MB each': [80, hold(BLANKS)],
  '80 hold 6.9 MB of é each': [80, hold(ACCENTS)],
  '80 send 6.9 MB of blanks each': [80, sendWhole(BLANKS)],
  '80 send 6.9 MB of {} each': [80, sendWhole(OBJECTS)],
  '1,000 send nothing': [1000, () => {}],
}

/** Sends ordinary reviews while hostile clients run in another thread, and prints the results. */
async function printScene(scene: string, pid: number, ca: string): Promise<void> {
  const clients = new Worker(new URL(import.meta.url), { workerData: { scene, ca } })
  const times: number[] = []
  let [resident, refused] = [0, 0]
  const end = performance.now() + SECONDS * 1000
  while (performance.now() < end) {
    const start = performance.now()
    const answer = await post({ port: PORT, ca }, '/mutate/pods', REVIEW).catch(() => undefined)
    times.push(performance.now() - start)
    if (answer?.status !== 200 || verdictOf(answer).patch === undefined) refused += 1
    resident = Math.max(resident, await residentOf(pid))
    await sleep(20)
  }
  await clients.terminate()
  times.sort((a, b) => a - b)
  const at = (share: number) => (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(0)
  const cells = [`${resident.toFixed(0)} MB`, times.length, refused, at(0.5), at(0.99), at(1)]
  print(`${scene.padEnd(30)}${cells.map((cell) => `${cell}`.padStart(9)).join('')}`)
}

if (isMainThread) {
  print('Seconds until the server closes a connection without a complete request:')
  await withServer((_pid, ca) => printCuts(ca))
  print(`\nOrdinary reviews during ${SECONDS} s, each on a new connection; times in milliseconds:`)
  const head = ['RSS', 'reviews', 'refused', 'median', 'p99', 'max']
  print(`${'hostile clients'.padEnd(30)}${head.map((cell) => cell.padStart(9)).join('')}`)
  for (const scene of Object.keys(SCENES)) {
    await withServer((pid, ca) => printScene(scene, pid, ca))
  }
} else {
  const { scene, ca } = workerData as { readonly scene: string; readonly ca: string }
  const [clients = 0, act = () => {}] = SCENES[scene] ?? []
  await Promise.all(Array.from({ length: clients }, () => repeat(ca, act)))
}
