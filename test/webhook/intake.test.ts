import { once } from 'node:events'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { WEBHOOK_CONNECTIONS } from '../../webhook/connections.ts'
import { INTAKE, type IntakeLimits } from '../../webhook/intake.ts'
import { until } from '../until.ts'
import {
  type Answer,
  ASKING,
  addedNames,
  call,
  JSON_TYPE,
  openSocket,
  podOf,
  post,
  reviewOf,
  sampleOf,
  startApp,
} from './server.ts'

const PODS = '/mutate/pods'
const KIB = 1024

/** Limits that a few requests reach. */
const LIMITS: IntakeLimits = {
  body: 512 * KIB,
  all: 256 * KIB,
  allWithLarge: 192 * KIB,
  small: 32 * KIB,
}

/** A request timeout that no test reaches, although some requests stay incomplete. */
const CONNECTIONS = { ...WEBHOOK_CONNECTIONS, requestMs: 600_000 }

const startSmall = (t: Test) => startApp(t, { intake: LIMITS, connections: CONNECTIONS })

const HEAD = `POST ${PODS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
const SMALL = JSON.stringify(reviewOf(ASKING))

/** Returns a review of this length, of a pod that requests a metric. */
function reviewOfLength(bytes: number): string {
  const text = (padding: string) => JSON.stringify(reviewOf({ ...ASKING, padding }))
  return text('x'.repeat(bytes - text('').length))
}

type App = Awaited<ReturnType<typeof startApp>>

/** Sends a body without its last byte, and keeps the connection open. */
async function hold(t: Test, app: App, bytes: number): Promise<TLSSocket> {
  const socket = await openSocket(app.port, app.ca)
  t.teardown(() => socket.destroy())
  socket.write(`${HEAD}Content-Length: ${bytes}\r\n\r\n`)
  socket.write(reviewOfLength(bytes).slice(0, -1))
  return socket
}

function send(app: App, body: string | readonly Buffer[]): Promise<Answer> {
  const { port, ca } = app
  return call({ port, ca, path: PODS, method: 'POST', headers: JSON_TYPE, body })
}

function closed(socket: TLSSocket): Promise<unknown> {
  return new Promise((resolve) => socket.resume().once('close', resolve))
}

async function refusals({ metrics }: App): Promise<number> {
  const labels = { outcome: 'invalid', reason: 'overloaded' }
  return sampleOf(await metrics(), 'ridealong_reviews_total', labels) ?? 0
}

/** Waits until the server has counted earlier bodies and so refuses a body of this length. */
async function untilFull(app: App, bytes: number): Promise<void> {
  await until('the bytes are counted', async () => {
    return (await send(app, reviewOfLength(bytes))).status === 503
  })
}

t.test(
  'while large bodies fill the limit, large bodies are refused and small ones answered',
  async (t) => {
    const app = await startSmall(t)
    const held = await hold(t, app, 185 * KIB)
    await untilFull(app, 64 * KIB)
    const before = await refusals(app)
    const refused = await send(app, reviewOfLength(64 * KIB))
    t.equal(refused.status, 503)
    t.equal(
      refused.headers['retry-after'],
      '1',
      'the apiserver repeats the call only if Retry-After is a whole number',
    )
    const { error, message } = JSON.parse(refused.body)
    t.equal(error, 'overloaded')
    t.match(message, /too many bytes/)
    t.equal(await refusals(app), before + 1)
    t.strictSame(addedNames(await post(app, PODS, SMALL)), ['perf-sysstat'])
    t.strictSame(addedNames(await send(app, reviewOfLength(31 * KIB))), ['perf-sysstat'])
    held.destroy()
    await until(
      'the bytes are free again',
      async () => (await send(app, reviewOfLength(64 * KIB))).status === 200,
    )
  },
)

t.test('a body without a declared length is counted as its bytes arrive', async (t) => {
  const app = await startSmall(t)
  await hold(t, app, 160 * KIB)
  await untilFull(app, 64 * KIB)
  const text = Buffer.from(reviewOfLength(64 * KIB))
  const pieces = [text.subarray(0, 30 * KIB), text.subarray(30 * KIB)]
  const refused = await send(app, pieces)
  t.equal(refused.status, 503)
  t.equal(refused.headers['retry-after'], '1')
  t.strictSame(addedNames(await send(app, [Buffer.from(SMALL)])), ['perf-sysstat'])
})

t.test('a body is refused if the limit is reached while it arrives', async (t) => {
  const app = await startSmall(t)
  const early = await openSocket(app.port, app.ca)
  t.teardown(() => early.destroy())
  const body = reviewOfLength(100 * KIB)
  const answer = (socket: TLSSocket) => once(socket, 'data').then((data) => `${data}`.slice(0, 12))
  const first = answer(early)
  early.write(`${HEAD}Content-Length: ${body.length}\r\n\r\n{`)
  const other = await hold(t, app, body.length)
  await untilFull(app, body.length)
  early.write(body.slice(1))
  t.equal(await first, 'HTTP/1.1 503')
  const second = answer(other)
  other.write(body.slice(-1))
  t.equal(await second, 'HTTP/1.1 200')
})

t.test('a declared length is not counted until its bytes arrive', async (t) => {
  const app = await startSmall(t)
  for (let i = 0; i < 5; i += 1) {
    const socket = await openSocket(app.port, app.ca)
    t.teardown(() => socket.destroy())
    socket.write(`${HEAD}Content-Length: ${160 * KIB}\r\n\r\n{"a":`)
  }
  t.equal((await send(app, reviewOfLength(128 * KIB))).status, 200)
})

t.test('a body in tiny pieces is counted with the memory of its pieces', async (t) => {
  const app = await startSmall(t)
  const body = Array.from(SMALL.padEnd(KIB), (letter) => Buffer.from(letter))
  t.equal((await send(app, body)).status, 503)
  t.equal((await send(app, [Buffer.from(SMALL.padEnd(KIB))])).status, 200)
})

const ENDS: readonly (readonly [string, (app: App) => Promise<unknown>])[] = [
  ['answered', (app) => send(app, reviewOfLength(128 * KIB))],
  ['in pieces and answered', (app) => send(app, [Buffer.from(reviewOfLength(128 * KIB))])],
  ['not JSON', (app) => send(app, 'x'.repeat(128 * KIB))],
  ['too large', (app) => send(app, ' '.repeat(600 * KIB))],
  ['in pieces and too large', (app) => send(app, [Buffer.alloc(600 * KIB, ' ')]).catch(() => {})],
  ['refused in the middle', (app) => send(app, [Buffer.alloc(250 * KIB, ' ')])],
  [
    'aborted',
    async (app) => {
      const socket = await openSocket(app.port, app.ca)
      socket.write(`${HEAD}Content-Length: ${180 * KIB}\r\n\r\n${' '.repeat(170 * KIB)}`)
      socket.end()
      await closed(socket)
    },
  ],
  [
    'aborted before its answer',
    async (app) => {
      const socket = await openSocket(app.port, app.ca)
      const body = reviewOfLength(128 * KIB)
      socket.write(`${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
      socket.destroy()
      await closed(socket)
    },
  ],
]

for (const [what, end] of ENDS) {
  t.test(`the bytes of a body that is ${what} are released`, async (t) => {
    const app = await startSmall(t)
    for (let i = 0; i < 4; i += 1) await end(app)
    await until('a large body is accepted', async () => {
      return (await send(app, reviewOfLength(180 * KIB))).status === 200
    })
    // The second round detects bytes that were not released, even if one round leaves enough room
    // for a large body.
    for (let i = 0; i < 4; i += 1) await end(app)
    await until('a large body is still accepted', async () => {
      return (await send(app, reviewOfLength(180 * KIB))).status === 200
    })
  })
}

t.test('the limits admit the longest body, or 500 small ones at the same time', async (t) => {
  t.ok(INTAKE.allWithLarge >= INTAKE.body)
  t.ok(INTAKE.all >= 500 * INTAKE.small)
  const app = await startApp(t)
  const text = JSON.stringify(reviewOf(podOf({}, { metadata: { padding: '' } })))
  const body = text.replace('"padding":""', `"padding":"${'x'.repeat(INTAKE.body - text.length)}"`)
  t.equal(Buffer.byteLength(body), INTAKE.body)
  t.equal((await send(app, body)).status, 200)
})
