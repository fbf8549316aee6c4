import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { makeAuthority } from '../../certs/make.ts'
import { until } from '../until.ts'
import {
  ASKING,
  addedNames,
  call,
  inTime,
  keepAliveAgent,
  mountFiles,
  post,
  type Running,
  reviewOf,
  sampleOf,
  startServer,
} from './server.ts'

const PODS = '/mutate/pods'

const root = t.testdir({})
let folders = 0

function newFolder(): string {
  folders += 1
  return join(root, `${folders}`)
}

const [trusted, other] = await Promise.all([makeAuthority(), makeAuthority()])
const client = (subject: string, days = 1) => trusted.issue({ names: [], subject, days })
const apiserver = await client('CN=apiserver')

/** Starts a server that accepts only clients of the CA `trusted`, which is in a mounted Secret. */
async function startStrict(t: Test, clientNames?: readonly string[]) {
  const folder = newFolder()
  mountFiles(folder, { 'ca.crt': trusted.ca })
  const clientCa = join(folder, 'ca.crt')
  return { folder, running: await startServer(t, { clientCa, clientNames }) }
}

/** Posts a review with a client certificate. */
function postAs(t: Test, running: Running, pair: object | undefined) {
  return post(running, PODS, reviewOf(ASKING), keepAliveAgent(t, { ...pair }))
}

async function refusals(running: Running): Promise<number> {
  const labels = { outcome: 'invalid', reason: 'untrusted-client' }
  return sampleOf(await running.metrics(), 'ridealong_reviews_total', labels) ?? 0
}

t.test('a client with a certificate from the trusted authority is answered', async (t) => {
  const { running } = await startStrict(t)
  t.strictSame(addedNames(await postAs(t, running, apiserver)), ['perf-sysstat'])
  t.equal(await refusals(running), 0)
  t.equal((await running.status('/readyz')).status, 200, 'the status port needs no certificate')
  t.equal(JSON.parse((await running.status('/readyz')).body).checks['client-ca'], 'ok')
})

const REFUSED: readonly (readonly [string, () => Promise<object | undefined>, RegExp])[] = [
  ['without a certificate', async () => undefined, /the client has no certificate/],
  [
    'with a certificate of another authority of the same name',
    () => other.issue({ names: [], subject: 'CN=apiserver' }),
    /not valid: UNABLE_TO_VERIFY_LEAF_SIGNATURE/,
  ],
  ['whose certificate has expired', () => client('CN=apiserver', -1), /CERT_HAS_EXPIRED/],
  [
    'with the certificate of a server',
    () => trusted.issue({ names: ['apiserver'] }),
    /INVALID_PURPOSE/,
  ],
]

for (const [what, pair, problem] of REFUSED) {
  t.test(`a client ${what} is refused by TLS, counted and logged`, async (t) => {
    const { running } = await startStrict(t)
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      await t.rejects(postAs(t, running, { ...(await pair()), maxVersion }))
    }
    await until('both refusals are counted', async () => (await refusals(running)) === 2)
    const lines = running.lines.filter((line) => line.includes('"msg":"a client was refused"'))
    t.equal(lines.length, 1, 'only one line is logged for both calls')
    t.match(lines[0], problem)
    t.strictSame(addedNames(await postAs(t, running, apiserver)), ['perf-sysstat'])
  })
}

t.test('without the option --client-ca, clients need no certificate', async (t) => {
  const running = await startServer(t)
  t.strictSame(addedNames(await postAs(t, running, undefined)), ['perf-sysstat'])
  t.strictSame(addedNames(await postAs(t, running, apiserver)), ['perf-sysstat'])
})

t.test('only clients with an accepted name are answered', async (t) => {
  const { running } = await startStrict(t, ['apiserver', 'system:admission'])
  for (const subject of ['CN=apiserver', 'CN=system:admission', 'O=system:masters, CN=apiserver']) {
    const answer = await postAs(t, running, await client(subject))
    t.strictSame(addedNames(answer), ['perf-sysstat'], `${subject} is answered`)
  }
  const before = await refusals(running)
  const strangers = ['CN=kubelet', 'CN=apiserver2', 'O=apiserver', 'OU=CN=apiserver, CN=x']
  for (const subject of strangers) {
    const answer = await postAs(t, running, await client(subject))
    t.equal(answer.status, 403, `${subject} is refused`)
    t.match(JSON.parse(answer.body), { error: 'untrusted-client', message: /none of the names/ })
    t.equal(answer.headers.connection, 'close')
  }
  t.equal(await refusals(running), before + strangers.length)
})

t.test('a client without an accepted name is refused before its body is read', async (t) => {
  const { running } = await startStrict(t, ['apiserver'])
  const agent = keepAliveAgent(t, await client('CN=kubelet'))
  const { port, ca } = running
  for (const path of [PODS, '/mutate/namespaces', '/elsewhere']) {
    const answer = await call({ port, ca, path, method: 'POST', body: 'nonsense', agent })
    t.equal(answer.status, 403, `the call of ${path} is refused`)
  }
})

t.test(
  'new authorities also apply to TLS sessions, and to open connections after one more answer',
  async (t) => {
    const { folder, running } = await startStrict(t)
    const agent = keepAliveAgent(t, apiserver)
    const open = await post(running, PODS, reviewOf(ASKING), agent)
    t.equal(open.headers.connection, 'keep-alive')
    const session = await sessionOf(t, running)
    mountFiles(folder, { 'ca.crt': other.ca })
    await until('the change is logged', () =>
      running.lines.some((line) => /client-ca.*reload/.test(line)),
    )
    const last = await post(running, PODS, reviewOf(ASKING), agent)
    t.equal(last.reused, true)
    t.equal(last.headers.connection, 'close')
    await t.rejects(post(running, PODS, reviewOf(ASKING), agent), 'the new connection is refused')
    await t.rejects(postAs(t, running, { ...apiserver, session }))
    const pair = await other.issue({ names: [], subject: 'CN=apiserver' })
    t.strictSame(addedNames(await postAs(t, running, pair)), ['perf-sysstat'])
  },
)

/** Returns a TLS session that a client could resume. */
async function sessionOf(t: Test, { port, ca }: Running): Promise<Buffer | 'late'> {
  const socket: TLSSocket = connect({ port, host: '127.0.0.1', ca, ...apiserver })
  t.teardown(() => socket.destroy())
  return inTime(new Promise((resolve) => socket.once('session', resolve)))
}

t.test('all authorities in a file are valid at the same time', async (t) => {
  const { folder, running } = await startStrict(t)
  mountFiles(folder, { 'ca.crt': `# old\n${trusted.ca}\n# new\n${other.ca}\n` })
  const pair = await other.issue({ names: [], subject: 'CN=apiserver' })
  await until('the new authority is valid', async () => {
    return (await postAs(t, running, pair).catch(() => undefined))?.status === 200
  })
  t.equal((await postAs(t, running, apiserver)).status, 200)
})

t.test('a new key pair of the server does not change the authorities', async (t) => {
  const { running } = await startStrict(t)
  const pair = await running.authority.issue({ names: ['localhost', '127.0.0.1'], days: 3 })
  mountFiles(join(running.folder, 'tls'), { 'tls.crt': pair.cert, 'tls.key': pair.key })
  await until('the change is logged', () => running.lines.some((line) => line.includes('reloaded')))
  await t.rejects(postAs(t, running, undefined))
  t.equal((await postAs(t, running, apiserver)).status, 200)
})

t.test(
  'a file without authorities is reported, and the last valid authorities stay in use',
  async (t) => {
    const { folder, running } = await startStrict(t)
    const bad: readonly (readonly [string, RegExp])[] = [
      ['', /ca\.crt contains no certificate in PEM/],
      [apiserver.cert, /ca\.crt: certificate 1 is not the certificate of an authority/],
      [`${trusted.ca}\n${apiserver.cert}`, /certificate 2 is not the certificate of an authority/],
    ]
    for (const [text, problem] of bad) {
      mountFiles(folder, { 'ca.crt': text })
      await until('the problem is shown', async () =>
        problem.test((await running.status('/readyz')).body),
      )
      t.equal((await running.status('/readyz')).status, 200)
      await t.rejects(postAs(t, running, undefined))
      t.equal((await postAs(t, running, apiserver)).status, 200)
    }
    const file = `${newFolder()}-ca.crt`
    writeFileSync(file, 'garbage')
    await t.rejects(startServer(t, { clientCa: file }), /ca\.crt contains no certificate in PEM/)
    await t.rejects(startServer(t, { clientCa: `${file}.none` }), /cannot read .*ca\.crt\.none/)
  },
)
