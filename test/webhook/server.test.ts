import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until } from '../until.ts'
import {
  type Answer,
  ASKING,
  addedNames,
  inTime,
  keepAliveAgent,
  NAMES,
  openSocket,
  podOf,
  post,
  reviewOf,
  sampleOf,
  startApp,
  startServer,
  verdictOf,
} from './server.ts'

const PODS = '/mutate/pods'

const running = await startServer(t)
const { port, ca } = running

const asking = JSON.stringify(reviewOf(ASKING))

t.test('a pod that requests observers is injected over HTTPS', async (t) => {
  const answer = await post(running, PODS, asking)
  t.equal(answer.status, 200)
  t.match(answer.headers['content-type'], 'application/json')
  t.strictSame(addedNames(answer), ['perf-sysstat'])
  t.equal(verdictOf(answer).uid, '2bf81092-b31c-43bd-8cff-5901dbd750b9')
})

t.test('successive calls share one connection', async (t) => {
  const agent = keepAliveAgent(t)
  const answers = []
  for (let i = 0; i < 3; i++) answers.push(await post(running, PODS, asking, agent))
  t.strictSame(
    answers.map(({ reused }) => reused),
    [false, true, true],
  )
  const [first] = answers
  const why = 'the apiserver closes an idle connection after 90 s, before the server does'
  t.match(first?.headers['keep-alive'], 'timeout=120', why)
})

t.test('pipelined reviews are answered in their order', async (t) => {
  const socket = await openSocket(port, ca)
  t.teardown(() => socket.destroy())
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  const uids = ['first', 'second', 'third']
  for (const uid of uids) {
    const body = JSON.stringify(reviewOf(podOf({}), { uid }))
    const head = `POST ${PODS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`
    socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  }
  await until('three answers have arrived', () => received.split('"allowed":true').length === 4)
  const places = uids.map((uid) => received.indexOf(`"uid":"${uid}"`))
  t.ok(places.every((place) => place > 0))
  t.strictSame(
    places,
    places.toSorted((a, b) => a - b),
  )
})

t.test('a connection that ends in the middle of a body does not affect other calls', async (t) => {
  const head = `POST ${PODS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`
  for (const end of ['destroy', 'end', 'resetAndDestroy'] as const) {
    const socket = await openSocket(port, ca)
    socket.write(`${head}\r\nContent-Length: ${asking.length}\r\n\r\n${asking.slice(0, 100)}`)
    await sleep(20)
    if (end === 'resetAndDestroy') socket.destroy()
    else socket[end]()
    t.strictSame(addedNames(await post(running, PODS, asking)), ['perf-sysstat'])
  }
})

t.test('incomplete requests on other connections do not delay a call', async (t) => {
  const sockets = await Promise.all(Array.from({ length: 50 }, () => openSocket(port, ca)))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (const socket of sockets) socket.write(`POST ${PODS} HTTP/1.1\r\nHost: loc`)
  t.strictSame(addedNames(await post(running, PODS, asking)), ['perf-sysstat'])
})

t.test('a client that trusts only another authority cannot connect', async (t) => {
  const other = await startServer(t)
  await t.rejects(post({ port, ca: other.ca }, PODS, asking), /certificate|self-signed/i)
})

/** Blocks the event loop. */
function block(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

t.test('an overloaded server answers 503, so that the call is repeated', async (t) => {
  const app = await startApp(t, { maxEventLoopDelayMs: 50 })
  let shed: Answer | undefined
  await until('a call is refused', async () => {
    block(400)
    const answer = await post(app, PODS, asking)
    if (answer.status !== 200) shed = answer
    return shed !== undefined
  })
  t.equal(shed?.status, 503)
  t.equal(
    shed?.headers['retry-after'],
    '1',
    'the apiserver repeats the call only for a whole number',
  )
  const { error, message } = JSON.parse(shed?.body ?? '')
  t.equal(error, 'overloaded')
  t.match(message, / /)
  const labels = { outcome: 'invalid', reason: 'overloaded' }
  t.ok((sampleOf(await app.metrics(), 'ridealong_reviews_total', labels) ?? 0) >= 1)
  await until(
    'calls are answered again',
    async () => (await post(app, PODS, asking)).status === 200,
  )
})

t.test('parallel calls are each answered with their own uid', async (t) => {
  const uids = Array.from({ length: 200 }, (_, i) => `call-${i}`)
  const agent = keepAliveAgent(t, { maxSockets: 25 })
  const answers = await inTime(
    Promise.all(uids.map((uid) => post(running, PODS, reviewOf(ASKING, { uid }), agent))),
  )
  t.strictSame(answers === 'late' ? 'late' : answers.map((answer) => verdictOf(answer).uid), uids)
})

t.ok(NAMES.includes('127.0.0.1'), 'the certificate is valid for the address of all calls')
