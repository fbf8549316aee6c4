import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Agent } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { makeAuthority } from '../../certs/make.ts'
import { serve } from '../../webhook/serve.ts'
import { freePort, freePorts } from '../free-ports.ts'
import { until } from '../until.ts'
import {
  ASKING,
  addedNames,
  call,
  capturedLog,
  inTime,
  isListening,
  JSON_TYPE,
  keepAliveAgent,
  mountFiles,
  NAMES,
  openSocket,
  podOf,
  post,
  type Running,
  replaceFile,
  reviewOf,
  sampleOf,
  startServer,
} from './server.ts'

const PODS = '/mutate/pods'
const asking = JSON.stringify(reviewOf(ASKING))

/**
 * The times of a drain, in which a closing server still answers calls. This drain ends when no
 * requests arrive for 100 ms, long before its limit.
 */
const PATIENT = { quietMs: 100, limitMs: 600_000 }

interface Readiness {
  readonly status: number
  readonly word: string
  readonly checks: Readonly<Record<string, string>>
}

async function readiness({ status }: Running): Promise<Readiness> {
  const answer = await status('/readyz')
  const { status: word, checks } = JSON.parse(answer.body)
  return { status: answer.status, word, checks }
}

async function failures(running: Running, what: string): Promise<number> {
  return sampleOf(await running.metrics(), 'ridealong_reload_failures_total', { what }) ?? 0
}

/** Returns the certificate that the server shows to a new connection. */
async function shown({ port, ca }: Running): Promise<X509Certificate> {
  const socket = await openSocket(port, ca)
  const { raw } = socket.getPeerCertificate()
  socket.destroy()
  return new X509Certificate(raw)
}

t.test('a running server is healthy and ready, and lists its checks', async (t) => {
  const running = await startServer(t)
  const health = await running.status('/healthz')
  t.equal(health.status, 200)
  t.match(health.headers['content-type'], 'application/json')
  t.strictSame(await readiness(running), {
    status: 200,
    word: 'ready',
    checks: { serving: 'ok', certificate: 'ok', catalog: 'ok', namespaces: 'ok' },
  })
  t.equal((await running.status('/nothing')).status, 404)
})

t.test('the webhook port requires TLS, and the status port does not use TLS', async (t) => {
  const { port, ca, server } = await startServer(t)
  await t.rejects(call({ port, path: PODS, method: 'POST', headers: JSON_TYPE, body: asking }))
  const plain = await call({ port: server.statusPort, path: PODS, method: 'POST' })
  t.equal(plain.status, 404)
  t.equal((await call({ port, ca, path: '/metrics' })).status, 404)
})

t.test('the Prometheus metrics have their documented names and types', async (t) => {
  const running = await startServer(t)
  await post(running, PODS, asking)
  const answer = await running.status('/metrics')
  t.match(answer.headers['content-type'], 'text/plain')
  for (const [name, type] of [
    ['ridealong_reviews_total', 'counter'],
    ['ridealong_injections_total', 'counter'],
    ['ridealong_review_duration_seconds', 'histogram'],
    ['ridealong_certificate_expiry_timestamp_seconds', 'gauge'],
    ['ridealong_catalog_info', 'gauge'],
    ['ridealong_reload_failures_total', 'counter'],
    ['process_cpu_user_seconds_total', 'counter'],
    ['nodejs_eventloop_lag_p99_seconds', 'gauge'],
  ] as const) {
    t.match(answer.body, `# TYPE ${name} ${type}\n`)
  }
  const labels = { outcome: 'injected', reason: 'injected' }
  t.equal(sampleOf(answer.body, 'ridealong_reviews_total', labels), 1)
  t.equal(sampleOf(answer.body, 'ridealong_injections_total', { metric: 'perf-sysstat' }), 1)
  t.equal(sampleOf(answer.body, 'ridealong_review_duration_seconds_count'), 1)
  t.match(answer.body, /^ridealong_catalog_info\{revision="[0-9a-f]{8}"\} 1$/m)
  for (const le of ['0.005', '0.025', '0.1', '0.5', '1', '2.5', '10', '25']) {
    t.match(answer.body, `ridealong_review_duration_seconds_bucket{le="${le}"}`)
  }
})

t.test('the expiry metric is the time when the certificate expires', async (t) => {
  for (const days of [1, 5]) {
    const running = await startServer(t, { days })
    const expiry = sampleOf(
      await running.metrics(),
      'ridealong_certificate_expiry_timestamp_seconds',
    )
    t.equal(expiry, Date.parse((await shown(running)).validTo) / 1000)
  }
})

t.test('a renewed key pair is used for new connections, and old ones stay open', async (t) => {
  const running = await startServer(t)
  const agent = keepAliveAgent(t)
  await post(running, PODS, asking, agent)
  const before = await shown(running)
  const pair = await running.authority.issue({ names: NAMES, days: 3 })
  const renewed = new X509Certificate(pair.cert)
  mountFiles(join(running.folder, 'tls'), { 'tls.crt': pair.cert, 'tls.key': pair.key })
  await until('the new pair is served', async () => {
    return (await shown(running)).fingerprint256 === renewed.fingerprint256
  })
  t.not(before.fingerprint256, renewed.fingerprint256)
  const answer = await post(running, PODS, asking, agent)
  t.strictSame(addedNames(answer), ['perf-sysstat'])
  t.equal(answer.reused, true, 'the same connection as before')
  t.strictSame(addedNames(await post(running, PODS, asking)), ['perf-sysstat'])
  const expiry = sampleOf(await running.metrics(), 'ridealong_certificate_expiry_timestamp_seconds')
  t.equal(expiry, Date.parse(renewed.validTo) / 1000)
  t.equal((await readiness(running)).checks.certificate, 'ok')
})

t.test('TLS 1.1 is still refused after a renewal of the certificate', async (t) => {
  const running = await startServer(t)
  const pair = await running.authority.issue({ names: NAMES, days: 3 })
  mountFiles(join(running.folder, 'tls'), { 'tls.crt': pair.cert, 'tls.key': pair.key })
  await until('the reload is logged', () => running.lines.some((line) => line.includes('reloaded')))
  const { port, ca } = running
  const agent = keepAliveAgent(t, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL' })
  await t.rejects(post({ port, ca }, PODS, asking, agent))
})

t.test('an invalid key pair is reported, and the last valid pair stays in use', async (t) => {
  const running = await startServer(t)
  const good = await shown(running)
  const folder = join(running.folder, 'tls')
  const [issued, other] = await Promise.all([
    running.authority.issue({ names: NAMES }),
    running.authority.issue({ names: NAMES }),
  ])
  const bad: readonly (readonly [Record<string, string>, RegExp])[] = [
    [
      { 'tls.crt': issued.cert, 'tls.key': other.key },
      /the private key .*tls\.key does not belong to/,
    ],
    [{ 'tls.crt': 'garbage', 'tls.key': issued.key }, /tls\.crt contains no valid certificate/],
    [{ 'tls.crt': issued.cert, 'tls.key': '' }, /tls\.key contains no valid private key/],
    [{ 'tls.crt': issued.cert }, /ENOENT.*tls\.key/],
  ]
  for (const [index, [files, trouble]] of bad.entries()) {
    mountFiles(folder, files)
    await until('the certificate problem is shown', async () => {
      return trouble.test((await readiness(running)).checks.certificate ?? '')
    })
    t.equal((await readiness(running)).status, 200, 'the server is still ready')
    t.equal((await shown(running)).fingerprint256, good.fingerprint256)
    t.equal(await failures(running, 'certificate'), index + 1)
  }
  mountFiles(folder, { 'tls.crt': issued.cert, 'tls.key': issued.key })
  await until('the good pair is served', async () => {
    return (await shown(running)).fingerprint256 === new X509Certificate(issued.cert).fingerprint256
  })
  t.equal(await failures(running, 'certificate'), bad.length, 'each failure is counted once')
  const errors = running.lines.filter((line) => line.includes('"level":50'))
  t.equal(errors.length, bad.length)
  t.match(errors[0], /"what":"certificate"/)
  t.equal((await readiness(running)).checks.certificate, 'ok')
})

t.test('the log and the readiness checks never contain a private key', async (t) => {
  const running = await startServer(t)
  const [issued, other] = await Promise.all([
    running.authority.issue({ names: NAMES }),
    running.authority.issue({ names: NAMES }),
  ])
  mountFiles(join(running.folder, 'tls'), { 'tls.crt': issued.cert, 'tls.key': other.key })
  await until('failure 1 is counted', async () => (await failures(running, 'certificate')) === 1)
  mountFiles(join(running.folder, 'tls'), { 'tls.crt': issued.key, 'tls.key': issued.key })
  await until('failure 2 is counted', async () => (await failures(running, 'certificate')) === 2)
  const said = running.lines.join('') + (await running.status('/readyz')).body
  const [, secret = 'none'] = issued.key.split('\n')
  t.notMatch(said, secret)
  t.notMatch(said, 'PRIVATE KEY-----')
})

t.test('a server whose certificate has expired is not ready', async (t) => {
  const running = await startServer(t, { days: -1 })
  const { status, word, checks } = await readiness(running)
  t.equal(status, 503)
  t.equal(word, 'not ready')
  t.match(checks.certificate, /^expired at \d{4}-\d\d-\d\dT/)
  t.equal((await running.status('/healthz')).status, 200, 'a restart would not help')
  const { cert, key } = await running.authority.issue({ names: NAMES })
  mountFiles(join(running.folder, 'tls'), { 'tls.crt': cert, 'tls.key': key })
  await until('the server is ready', async () => (await readiness(running)).status === 200)
})

const metricDocument = (name: string, description = 'a metric of the test') => `
apiVersion: ridealong.dev/v1alpha1
kind: Metric
metadata: {name: ${name}}
spec:
  description: ${description}
  privilege: restricted
  container:
    image: example.com/observer:1
    resources: {limits: {cpu: 10m, memory: 16Mi}}
`

async function revisionOf(running: Running): Promise<string> {
  const [, revision = '', ...others] =
    /^ridealong_catalog_info\{revision="(\w+)"\} 1$/m.exec(await running.metrics()) ?? []
  return others.length > 0 ? 'several' : revision
}

async function gets(running: Running, metric: string): Promise<readonly string[]> {
  const review = reviewOf(podOf({ 'ridealong.dev/inject': metric }))
  return addedNames(await post(running, PODS, review))
}

t.test('a metric becomes available after its document is added to the catalog', async (t) => {
  const running = await startServer(t, { catalog: {} })
  const revision = await revisionOf(running)
  t.strictSame(await gets(running, 'ours'), [])
  replaceFile(join(running.folder, 'catalog', 'ours.yaml'), metricDocument('ours'))
  await until('the metric ours is available', async () =>
    (await gets(running, 'ours')).includes('ours'),
  )
  const metrics = await running.metrics()
  t.equal(metrics.split('\n').filter((line) => line.startsWith('ridealong_catalog_info')).length, 1)
  t.not(await revisionOf(running), revision)
  t.strictSame(
    await gets(running, 'perf-sysstat'),
    ['perf-sysstat'],
    'the built-in metrics are still available',
  )
})

t.test('changes to a catalog that is a mounted ConfigMap are read', async (t) => {
  const running = await startServer(t, { catalog: {} })
  const folder = join(running.folder, 'catalog')
  for (const name of ['first', 'second']) {
    mountFiles(folder, { 'metric.yaml': metricDocument(name) })
    await until(`${name} is offered`, async () => (await gets(running, name)).includes(name))
  }
  t.strictSame(await gets(running, 'first'), [], 'a removed metric is no longer available')
})

t.test('an invalid catalog document is reported and changes nothing', async (t) => {
  const running = await startServer(t, { catalog: { 'ours.yaml': metricDocument('ours') } })
  const revision = await revisionOf(running)
  replaceFile(join(running.folder, 'catalog', 'more.yaml'), metricDocument('More'))
  await until('a problem is shown', async () => (await readiness(running)).checks.catalog !== 'ok')
  const { status, checks } = await readiness(running)
  t.equal(status, 200)
  t.match(checks.catalog, /more\.yaml: metric More: metadata\.name /)
  t.equal(await failures(running, 'catalog'), 1)
  t.strictSame(await gets(running, 'ours'), ['ours'])
  t.equal(await revisionOf(running), revision)
  replaceFile(join(running.folder, 'catalog', 'more.yaml'), metricDocument('more'))
  await until('the metric more is available', async () =>
    (await gets(running, 'more')).includes('more'),
  )
  t.equal((await readiness(running)).checks.catalog, 'ok')
})

t.test('changed default metrics are used, and invalid ones are reported', async (t) => {
  const running = await startServer(t, { catalog: { 'ours.yaml': metricDocument('ours') } })
  const file = join(running.folder, 'catalog', 'defaults.yaml')
  const before = await revisionOf(running)
  replaceFile(file, defaultsDocument('ours, io-sysstat'))
  await until('the default metrics are new', async () =>
    (await gets(running, 'true')).includes('ours'),
  )
  t.strictSame(await gets(running, 'enabled'), ['ours', 'io-sysstat'])
  const revision = await revisionOf(running)
  t.not(revision, before)
  replaceFile(file, defaultsDocument('ours, nobody'))
  await until('a problem is shown', async () => (await readiness(running)).checks.catalog !== 'ok')
  const { checks } = await readiness(running)
  t.match(checks.catalog, /defaults\.yaml: spec\.metrics .*: "nobody" is not a metric of the cata/)
  t.strictSame(await gets(running, 'true'), ['ours', 'io-sysstat'], 'the last ones stay')
  t.equal(await revisionOf(running), revision)
})

function defaultsDocument(metrics: string): string {
  return `apiVersion: ridealong.dev/v1alpha1\nkind: Defaults\nspec: {metrics: [${metrics}]}\n`
}

t.test(
  'a changed file of namespaces is used without a restart, and an invalid one is not',
  async (t) => {
    const running = await startServer(t)
    const path = join(running.folder, 'namespaces.yaml')
    const inQuiet = async () => addedNames(await post(running, PODS, reviewOf(podOf({}))))
    t.strictSame(await inQuiet(), [])
    const annotated = `
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Namespace
  metadata: {name: quiet, annotations: {ridealong.dev/inject: io-sysstat}}
`
    replaceFile(path, annotated)
    await until('io-sysstat is injected', async () => (await inQuiet()).includes('io-sysstat'))
    replaceFile(path, 'kind: Pod')
    await until('an error shows', async () => (await readiness(running)).checks.namespaces !== 'ok')
    const { status, checks } = await readiness(running)
    t.equal(status, 200)
    t.match(checks.namespaces, /namespaces\.yaml: document 1 /)
    t.equal(await failures(running, 'namespaces'), 1)
    t.strictSame(await inQuiet(), ['io-sysstat'])
  },
)

const CALLERS = 20

t.test('no call is lost if a server closes while callers send requests', async (t) => {
  // On a busy machine, all callers may be in a handshake for a while. Such a time without requests
  // does not end a drain with a quietMs of five seconds.
  const running = await startServer(t, { drain: { quietMs: 5000, limitMs: 600_000 } })
  const after = await startServer(t)
  let isClosing = false
  const begun = new Set<Agent>()
  const kept: unknown[] = []
  const askOnce = async (agent: Agent) => {
    const isLate = isClosing
    const { status, headers } = await post(running, PODS, asking, agent)
    if (isLate) kept.push(headers.connection)
    return { status, when: isLate ? ('during' as const) : ('before' as const) }
  }
  /** Sends requests until 20 answers came during the drain, and then calls the server `after`. */
  const ask = async () => {
    const agent = keepAliveAgent(t)
    const answers = { before: 0, during: 0, other: 0 }
    while (answers.during < 20) {
      const { status, when } = await askOnce(agent)
      answers[status === 200 ? when : 'other'] += 1
      begun.add(agent)
    }
    for (let i = 0; i < 5; i++) addedNames(await post(after, PODS, asking, agent))
    return answers
  }
  const callers = Promise.all(Array.from({ length: CALLERS }, ask))
  await until('each caller was answered', () => begun.size === CALLERS)
  isClosing = true
  const closing = running.server.close()
  const { status, checks } = await readiness(running)
  t.equal(status, 503)
  t.equal(checks.serving, 'draining')
  t.equal((await running.status('/healthz')).status, 200)
  const answers = await inTime(callers)
  t.not(answers, 'late')
  for (const { before, other } of answers === 'late' ? [] : answers) {
    t.ok(before > 0)
    t.equal(other, 0, 'each call was answered with 200')
  }
  t.strictSame(new Set(kept), new Set(['close']), 'each later answer closes its connection')
  t.equal(await inTime(closing), undefined, 'the server has ended')
  t.equal(await isListening(running.port), false)
  t.equal(await isListening(running.server.statusPort), false)
})

t.test('a server keeps its connections until it closes', async (t) => {
  const running = await startServer(t)
  const answer = await post(running, PODS, asking, keepAliveAgent(t))
  t.equal(answer.headers.connection, 'keep-alive')
})

t.test('a server whose host name has several addresses listens at one of them', async (t) => {
  // Ports that no other program uses at any of the addresses.
  const [own = 0, statusPort = 0] = await freePorts(2)
  const { port, server } = await startServer(t, { host: 'localhost', port: own, statusPort })
  for (const each of [port, server.statusPort]) {
    const open = await Promise.all(['127.0.0.1', '::1'].map((host) => isListening(each, host)))
    t.equal(open.filter((isOpen) => isOpen).length, 1)
  }
})

/**
 * The times of a drain that ends with the last call. Therefore an idle server ends before a server
 * with a call, even if the idle server is closed later.
 */
const HASTY = { quietMs: 1, limitMs: 600_000 }

t.test('a server that closes waits for a call that has begun', async (t) => {
  const running = await startServer(t, { drain: HASTY })
  const idle = await startServer(t, { drain: HASTY })
  const socket = await openSocket(running.port, running.ca)
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  const head = `POST ${PODS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`
  socket.write(`${head}\r\nContent-Length: ${asking.length}\r\n\r\n${asking.slice(0, 50)}`)
  // The answer to another request shows that the server has received the first request.
  await post(running, PODS, asking)
  const closing = running.server.close()
  await idle.server.close()
  t.equal(await isListening(running.port), true)
  socket.write(asking.slice(50))
  await until('the call is answered', () => received.includes('"allowed":true'))
  t.match(received, /^HTTP\/1\.1 200 /)
  t.equal(await inTime(closing), undefined)
})

t.test('calls that were aborted or refused do not keep a server from ending', async (t) => {
  const running = await startServer(t, { drain: PATIENT })
  const { port, ca } = running
  const head = `POST ${PODS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`
  for (const end of ['destroy', 'end'] as const) {
    const socket = await openSocket(port, ca)
    socket.write(`${head}\r\nContent-Length: ${asking.length}\r\n\r\n${asking.slice(0, 100)}`)
    // The answer to another request shows that the server has received the first request.
    await post(running, PODS, asking)
    socket.resume()[end]()
    await once(socket, 'close')
  }
  const body = Array.from({ length: 8 }, () => Buffer.alloc(1024 * 1024, 0x20))
  await call({ port, ca, path: PODS, method: 'POST', headers: JSON_TYPE, body })
  await call({ port, ca, path: PODS, method: 'POST', headers: JSON_TYPE, body: '{' })
  await call({ port, ca, path: PODS })
  await call({ port, ca, path: '/nothing' })
  t.equal(await inTime(running.server.close()), undefined)
})

t.test('a server waits for a call even if another call was aborted', async (t) => {
  const running = await startServer(t, { drain: HASTY })
  const idle = await startServer(t, { drain: HASTY })
  const head = `POST ${PODS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`
  const begun = `${head}\r\nContent-Length: ${asking.length}\r\n\r\n${asking.slice(0, 100)}`
  const broken = await openSocket(running.port, running.ca)
  broken.write(begun)
  const lasting = await openSocket(running.port, running.ca)
  t.teardown(() => lasting.destroy())
  lasting.write(begun)
  await post(running, PODS, asking)
  broken.destroy()
  await post(running, PODS, asking)
  const closing = running.server.close()
  await idle.server.close()
  t.equal(await isListening(running.port), true, 'the server waits for the call')
  let received = ''
  lasting.on('data', (chunk) => {
    received += chunk
  })
  lasting.write(asking.slice(100))
  await until('the call is answered', () => received.includes('"allowed":true'))
  t.equal(await inTime(closing), undefined)
})

t.test('callers that never stop do not prevent a server from closing', async (t) => {
  const running = await startServer(t, { drain: { quietMs: 600_000, limitMs: 200 } })
  let isOver = false
  const caller = (async () => {
    while (!isOver) await post(running, PODS, asking).catch(() => sleep(10))
  })()
  t.equal(await inTime(running.server.close()), undefined)
  isOver = true
  await caller
})

t.test('an idle connection does not keep a server from ending', async (t) => {
  const running = await startServer(t, { drain: PATIENT })
  const agent = keepAliveAgent(t)
  await post(running, PODS, asking, agent)
  t.equal(await inTime(running.server.close()), undefined)
})

t.test('a connection without any request does not keep a server from ending', async (t) => {
  const running = await startServer(t, { drain: PATIENT })
  const silent = await openSocket(running.port, running.ca)
  t.teardown(() => silent.destroy())
  t.equal(await inTime(running.server.close()), undefined)
})

t.test('a call that never ends is aborted at the limit of the drain', async (t) => {
  const running = await startServer(t, { drain: { quietMs: 1, limitMs: 200 } })
  const socket = await openSocket(running.port, running.ca)
  t.teardown(() => socket.destroy())
  const head = `POST ${PODS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`
  socket.write(`${head}\r\nContent-Length: ${asking.length}\r\n\r\n${asking.slice(0, 50)}`)
  await post(running, PODS, asking)
  t.equal(await inTime(running.server.close()), undefined)
})

t.test('the error names a port that is in use, and no port stays open', async (t) => {
  const other = createServer()
  t.teardown(() => other.close())
  await once(other.listen(0, '127.0.0.1'), 'listening')
  const { port: taken } = other.address() as AddressInfo
  await t.rejects(startServer(t, { port: taken }), { message: new RegExp(`EADDRINUSE.*:${taken}`) })
  const free = await freePort()
  await t.rejects(startServer(t, { port: free, statusPort: taken }), {
    message: new RegExp(`EADDRINUSE.*:${taken}`),
  })
  t.equal(await isListening(free), false, 'the webhook port is closed again')
})

t.test('a server does not start with missing or invalid files', async (t) => {
  const { cert, key } = await (await makeAuthority()).issue({ names: NAMES })
  const files = { 'tls.crt': cert, 'tls.key': key, 'namespaces.yaml': '', 'bad.yaml': 'a: b' }
  const folder = t.testdir({ ...files, catalog: { 'bad.yaml': 'kind: Metric' } })
  const keyPair = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
  const options = {
    environment: {},
    keyPair,
    namespaces: join(folder, 'namespaces.yaml'),
    port: 0,
    statusPort: 0,
    host: '127.0.0.1',
    excludedNamespaces: [],
    drain: { quietMs: 1, limitMs: 1 },
    lookMs: 20,
    log: capturedLog().log,
  }
  const wrong = [
    [{ keyPair: { ...keyPair, cert: join(folder, 'none.crt') } }, /none\.crt/],
    [
      { keyPair: { ...keyPair, cert: join(folder, 'bad.yaml') } },
      /bad\.yaml contains no valid certificate/,
    ],
    [
      { keyPair: { ...keyPair, key: join(folder, 'tls.crt') } },
      /tls\.crt contains no valid private key/,
    ],
    [{ namespaces: join(folder, 'none.yaml') }, /none\.yaml/],
    [{ namespaces: join(folder, 'bad.yaml') }, /bad\.yaml: document 1 /],
    [{ catalog: join(folder, 'none') }, /none/],
    [{ catalog: join(folder, 'catalog') }, /catalog.bad\.yaml: /],
    [{ keyPair: { ...keyPair, cert: folder } }, new RegExp(folder)],
    [{ namespaces: folder }, new RegExp(folder)],
  ] as const
  for (const [changes, message] of wrong) {
    await t.rejects(serve({ ...options, ...changes }), { message }, JSON.stringify(changes))
  }
  const server = await serve(options)
  await server.close()
})

t.test('a call that its caller aborted does not delay the shutdown', async (t) => {
  const running = await startServer(t, { drain: { quietMs: 1, limitMs: 600_000 } })
  const socket = await openSocket(running.port, running.ca)
  const head = 'POST /mutate/pods HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json'
  socket.write(`${head}\r\nContent-Length: 100\r\n\r\n{"kind":`)
  await post(running, '/mutate/pods', reviewOf(ASKING))
  socket.destroy()
  await post(running, '/mutate/pods', reviewOf(ASKING))
  t.not(await inTime(running.server.close()), 'late')
})
