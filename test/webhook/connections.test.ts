import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import {
  type ConnectionLimits,
  STATUS_CONNECTIONS,
  WEBHOOK_CONNECTIONS,
} from '../../webhook/connections.ts'
import { createMetrics } from '../../webhook/metrics.ts'
import { buildStatusApp } from '../../webhook/status-app.ts'
import { until } from '../until.ts'
import {
  ASKING,
  call,
  inTime,
  keepAliveAgent,
  openSocket,
  post,
  reviewOf,
  sampleOf,
  startApp,
} from './server.ts'

/** Short limits, for tests that wait until a connection is closed. */
const IMPATIENT = { requestMs: 500, checkMs: 20 } as const

/** A handshake timeout that no test reaches, in milliseconds. */
const PATIENT = { handshakeMs: 100_000 } as const

const PODS = '/mutate/pods'
const HALF_HEADER = 'POST /mutate/pods HTTP/1.1\r\nHost: loc'
const HALF_BODY =
  'POST /mutate/pods HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
  'Content-Length: 1000\r\n\r\n{"kind":'

async function startStatus(t: Test, changes: Partial<ConnectionLimits>) {
  const limits = { ...STATUS_CONNECTIONS, ...changes }
  const app = buildStatusApp(createMetrics().registry, () => [], limits)
  t.teardown(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

async function openPlain(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  return socket.on('error', () => {})
}

/** Sends a text. Resolves when the server closes the connection; after a timeout, with `late`. */
async function cutOff(t: Test, socket: Socket, sent: string): Promise<unknown> {
  if (socket.destroyed) return
  t.teardown(() => socket.destroy())
  const closed = new Promise((resolve) => socket.resume().once('close', resolve))
  socket.write(sent)
  return inTime(closed)
}

const SLOW: readonly (readonly [string, string])[] = [
  ['nothing', ''],
  ['half a header', HALF_HEADER],
  ['half a body', HALF_BODY],
]

for (const [what, sent] of SLOW) {
  t.test(`a client of the webhook that sends ${what} is cut off`, async (t) => {
    const connections = { ...WEBHOOK_CONNECTIONS, ...IMPATIENT, ...PATIENT }
    const app = await startApp(t, { connections })
    t.not(await cutOff(t, await openSocket(app.port, app.ca), sent), 'late')
  })

  t.test(`a client of the status port that sends ${what} is cut off`, async (t) => {
    const port = await startStatus(t, IMPATIENT)
    t.not(await cutOff(t, await openPlain(port), sent), 'late')
  })
}

t.test('a client that sends a body piece by piece is cut off', async (t) => {
  const connections = { ...WEBHOOK_CONNECTIONS, ...IMPATIENT, ...PATIENT }
  const app = await startApp(t, { connections })
  const socket = await openSocket(app.port, app.ca)
  const timer = setInterval(() => socket.write(' '), 10)
  t.teardown(() => clearInterval(timer))
  t.not(await cutOff(t, socket, HALF_BODY), 'late')
})

t.test(
  'a client that sends no handshake, or sends a handshake piece by piece, is cut off',
  async (t) => {
    const connections = { ...WEBHOOK_CONNECTIONS, ...IMPATIENT, handshakeMs: 500 }
    const app = await startApp(t, { connections })
    t.not(await cutOff(t, await openPlain(app.port), ''), 'late')
    const socket = await openPlain(app.port)
    // The head of a TLS record that announces 16 KiB of a handshake.
    socket.write(Buffer.from([0x16, 0x03, 0x01, 0x40, 0x00]))
    const timer = setInterval(() => socket.write(Buffer.from([0x01])), 10)
    t.teardown(() => clearInterval(timer))
    t.not(await cutOff(t, socket, ''), 'late')
  },
)

t.test('a client that does not read its answers is cut off', async (t) => {
  const limits = { ...STATUS_CONNECTIONS, ...IMPATIENT, keepAliveMs: 500 }
  const app = buildStatusApp(createMetrics().registry, () => [], limits)
  t.teardown(() => app.close())
  app.get('/megabyte', async () => 'x'.repeat(1_000_000))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const accepted = once(app.server, 'connection')
  const socket = await openPlain((app.server.address() as AddressInfo).port)
  t.teardown(() => socket.destroy())
  await accepted
  // The responses are too large for the socket buffers.
  socket.pause().write('GET /megabyte HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(100))
  const connections = () => {
    return new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)))
  }
  await until('the server has no open connections', async () => (await connections()) === 0)
})

t.test('connections beyond the limit are closed and counted until one is free', async (t) => {
  const app = await startApp(t, { connections: { ...WEBHOOK_CONNECTIONS, connections: 3 } })
  const sockets = await Promise.all([1, 2, 3].map(() => openSocket(app.port, app.ca)))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  await t.rejects(post(app, PODS, reviewOf(ASKING)), 'the fourth connection is closed')
  const labels = { outcome: 'invalid', reason: 'overloaded' }
  t.equal(sampleOf(await app.metrics(), 'ridealong_reviews_total', labels), 1)
  sockets[0]?.destroy()
  await until('a connection is free', async () => {
    const answer = await post(app, PODS, reviewOf(ASKING)).catch(() => undefined)
    return answer?.status === 200
  })
})

t.test('idle connections take no more than half of the limit', async (t) => {
  const app = await startApp(t, { connections: { ...WEBHOOK_CONNECTIONS, connections: 4 } })
  const agents = [1, 2, 3].map(() => keepAliveAgent(t))
  const connection = async (agent: (typeof agents)[number] | undefined) => {
    return (await post(app, PODS, reviewOf(ASKING), agent)).headers.connection
  }
  t.equal(await connection(agents[0]), 'keep-alive')
  t.equal(await connection(agents[1]), 'keep-alive')
  t.equal(await connection(agents[2]), 'close', 'three connections are more than half of the limit')
  await until('a connection is closed', async () => (await connection(agents[0])) === 'keep-alive')
})

t.test('the status port has a limit of connections', async (t) => {
  const port = await startStatus(t, { connections: 2 })
  const sockets = await Promise.all([1, 2].map(() => openPlain(port)))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  await t.rejects(call({ port, path: '/healthz' }))
  sockets[0]?.destroy()
  await until('a connection is free', async () => {
    const answer = await call({ port, path: '/healthz' }).catch(() => undefined)
    return answer?.status === 200
  })
})

t.test('the status port reads no body', async (t) => {
  const port = await startStatus(t, {})
  const body = '{"a":1}'
  const headers = { 'content-type': 'application/json' }
  t.equal((await call({ port, path: '/healthz', method: 'POST', headers, body })).status, 404)
  t.equal((await call({ port, path: '/healthz', headers, body })).status, 200)
})
