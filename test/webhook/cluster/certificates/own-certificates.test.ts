import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import type { KeyPair } from '../../../../certs/key-pair.ts'
import { readBundle } from '../../../../certs/own/bundle.ts'
import { makeOwnPair } from '../../../../certs/own/make-pair.ts'
import type { OwnPair } from '../../../../certs/own/own-pair.ts'
import type { Access } from '../../../../src/cluster/cluster.ts'
import {
  followOwnCertificates,
  NO_KEY_PAIR,
} from '../../../../webhook/cluster/certificates/own-certificates.ts'
import { INTERVALS, type Intervals } from '../../../../webhook/cluster/intervals.ts'
import { type StandIn, type Stored, startStandIn } from '../../../stand-ins/apiserver.ts'
import { kubeconfigOf } from '../../../stand-ins/kubeconfig.ts'
import { until } from '../../../until.ts'
import { capturedLog, openSocket, sampleOf, startServer } from '../../server.ts'

const QUICK: Intervals = {
  ...INTERVALS,
  renewMs: 20,
  certificateMs: 20,
  certificateSoonMs: 20,
  settleMs: 100,
}

// The folder of the kubeconfig. The server has another folder, the folder of its test.
const folder = t.testdir({})

const DAY_MS = 24 * 60 * 60 * 1000
const DURATION_MS = 90 * DAY_MS
const NAMESPACE = 'ridealong-system'
const NAMES = ['ridealong.ridealong-system.svc', 'ridealong.ridealong-system']
const SECRET = 'ridealong-own-tls'
const WEBHOOKS = ['pods', 'armed', 'namespaces'].map((name) => ({
  name: `${name}.ridealong.dev`,
  clientConfig: { service: { name: 'ridealong', namespace: NAMESPACE, path: `/mutate/${name}` } },
  failurePolicy: 'Ignore',
}))

/** Starts an apiserver with a webhook configuration without caBundle, and with free Leases. */
async function start(t: Test) {
  const { standIn, access, stop, restart } = await startStandIn(t)
  putConfiguration(standIn)
  for (const name of ['one', 'two']) standIn.put('leases', object(name))
  return { standIn, access, stop, restart }
}

const object = (name: string) => ({ metadata: { name, namespace: NAMESPACE } })

function putConfiguration(standIn: StandIn): void {
  const labels = { release: 'ridealong' }
  const metadata = { name: 'ridealong', labels }
  standIn.put('mutatingwebhookconfigurations', { metadata, webhooks: WEBHOOKS })
}

interface ReplicaOptions {
  /** Replicas with different Leases act as leaders at the same time. */
  readonly lease?: 'one' | 'two'
  readonly pace?: Partial<Intervals>
}

/** Starts a replica, and checks that caBundle verifies each certificate that it uses. */
function replica(
  t: Test,
  { standIn, access }: { readonly standIn: StandIn; readonly access: Access },
  { lease = 'one', pace = {} }: ReplicaOptions = {},
) {
  const registry = new Registry()
  const { log, lines } = capturedLog()
  const used: KeyPair[] = []
  const troubles: string[] = []
  const followed = followOwnCertificates({
    own: {
      secret: `${NAMESPACE}/${SECRET}`,
      webhookConfiguration: 'ridealong',
      names: NAMES,
      lease: `${NAMESPACE}/${lease}`,
      durationMs: DURATION_MS,
    },
    ...{ access, registry, log, pace: { ...QUICK, ...pace } },
    onChange: (pair) => {
      used.push(pair)
      t.ok(isTrusted(standIn, pair), 'every caBundle verifies it')
    },
    onTrouble: (trouble) => troubles.push(trouble),
  })
  t.teardown(() => followed.stop())
  const steps = async (step: string, outcome = 'done') =>
    sampleOf(await registry.metrics(), 'ridealong_own_certificate_steps_total', { step, outcome })
  const problem = () => followed.checks()[0]?.problem
  return { followed, used, troubles, lines, steps, problem }
}

const isServing = ({ followed }: { readonly followed: { readonly current: KeyPair } }) =>
  followed.current !== NO_KEY_PAIR

const secretOf = (standIn: StandIn) => standIn.get('secrets', SECRET, NAMESPACE)
const configurationOf = (standIn: StandIn) =>
  standIn.get('mutatingwebhookconfigurations', 'ridealong')

function textOf(secret: Stored | undefined, key: string): string {
  return Buffer.from(String(Object(secret?.data)[key] ?? ''), 'base64').toString()
}

interface Configured {
  readonly clientConfig: { readonly caBundle?: string }
}

function bundlesOf(standIn: StandIn) {
  const webhooks = configurationOf(standIn)?.webhooks as readonly Configured[]
  return webhooks.map(({ clientConfig }) =>
    readBundle(Buffer.from(clientConfig.caBundle ?? '', 'base64').toString()),
  )
}

/** Reports whether a CA in every caBundle has issued a certificate. */
function isTrusted(standIn: StandIn, { cert }: KeyPair): boolean {
  const leaf = new X509Certificate(cert)
  return bundlesOf(standIn).every(({ authorities }) =>
    authorities.some(({ pem }) => leaf.verify(new X509Certificate(pem).publicKey)),
  )
}

/** Returns the number of CAs in each caBundle. */
const sizesOf = (standIn: StandIn) =>
  bundlesOf(standIn).map(({ authorities }) => authorities.length)

function putSecret(standIn: StandIn, { cert, key, ca }: OwnPair): void {
  const entries = Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca })
  const data = entries.map(([name, text]) => [name, Buffer.from(text).toString('base64')])
  standIn.put('secrets', { ...object(SECRET), data: Object.fromEntries(data) })
}

const WRITES = /^PATCH .*\/(secrets|mutatingwebhookconfigurations)\//

/** Returns the written objects, in the order of the writes. */
const writesOf = ({ calls }: StandIn) => calls.flatMap((call) => WRITES.exec(call)?.[1] ?? [])

t.test(
  'the first replica makes a certificate, which is used after caBundle verifies it',
  async (t) => {
    const cluster = await start(t)
    const { standIn } = cluster
    const { followed, used, steps, problem } = replica(t, cluster)
    t.equal(followed.current, NO_KEY_PAIR)
    await until('the certificate is used', () => used.length === 1)
    t.strictSame(writesOf(standIn), ['secrets', 'mutatingwebhookconfigurations', 'secrets'])
    t.strictSame(sizesOf(standIn), [1, 1, 1])
    const secret = secretOf(standIn)
    t.match(secret, { type: 'kubernetes.io/tls' })
    t.strictSame(Object.keys(Object(secret?.data)).sort(), ['ca.crt', 'tls.crt', 'tls.key'])
    t.equal(textOf(secret, 'tls.crt'), followed.current.cert)
    t.equal(followed.trouble, undefined)
    t.equal(problem(), undefined)
    for (const step of ['prepare', 'trust', 'switch']) t.equal(await steps(step), 1)
    await sleep(200)
    t.equal(writesOf(standIn).length, 3, 'there is nothing more to write')
  },
)

t.test('only caBundle of the webhook configuration is changed', async (t) => {
  const cluster = await start(t)
  const { standIn } = cluster
  const { used } = replica(t, cluster)
  await until('the certificate is used', () => used.length === 1)
  const { webhooks, metadata } = configurationOf(standIn) as Stored
  t.match(metadata.labels, { release: 'ridealong' })
  const others = (webhooks as readonly Configured[]).map(({ clientConfig, ...rest }) => {
    const { caBundle, ...config } = clientConfig
    return { ...rest, clientConfig: config }
  })
  t.strictSame(others, [
    ...WEBHOOKS.map(({ clientConfig, ...rest }) => ({ ...rest, clientConfig })),
  ])
})

t.test(
  'a replica without the Lease writes nothing, and uses the certificate of others',
  async (t) => {
    const cluster = await start(t)
    const { standIn } = cluster
    const spec = { holderIdentity: 'another', leaseDurationSeconds: 3600 }
    standIn.put('leases', { ...object('two'), spec })
    const other = replica(t, cluster, { lease: 'two' })
    const reads = () => standIn.count(/^GET .*mutatingwebhookconfigurations/)
    await until('there was much time to write', () => reads() > 5)
    t.strictSame(writesOf(standIn), [])
    const leader = replica(t, cluster)
    await until('both use the certificate', () => [leader, other].every(isServing))
    t.equal(other.followed.current.cert, leader.followed.current.cert)
    t.equal(await other.steps('prepare'), 0)
    t.equal(writesOf(standIn).length, 3)
  },
)

t.test('a certificate is renewed in time, and the old CA stays until it expires', async (t) => {
  const cluster = await start(t)
  const { standIn } = cluster
  const now = Date.now() - 46 * DAY_MS
  putSecret(standIn, await makeOwnPair({ names: NAMES, now, durationMs: DURATION_MS }))
  const leader = replica(t, cluster)
  const other = replica(t, cluster)
  await until('both replicas use two certificates', () =>
    [leader, other].every(({ used }) => used.length === 2),
  )
  t.equal(leader.followed.current.cert, other.followed.current.cert)
  t.strictSame(sizesOf(standIn), [2, 2, 2])
  t.match(leader.lines.join(''), /less than half of the lifetime of a certificate remains/)
  const life = leader.followed.current.notAfter.getTime() - Date.now()
  t.ok(life > 89 * DAY_MS && life <= 90 * DAY_MS)
})

t.test('after the Secret was deleted, the old certificate is used until the new one', async (t) => {
  const cluster = await start(t)
  const { standIn } = cluster
  const replicas = [replica(t, cluster), replica(t, cluster)]
  await until('it is used', () => replicas.every(isServing))
  const before = replicas[0]?.followed.current
  standIn.remove('secrets', SECRET, NAMESPACE)
  await until('a second certificate is used', () => replicas.every(({ used }) => used.length === 2))
  t.not(replicas[0]?.followed.current.cert, before?.cert)
  t.strictSame(sizesOf(standIn), [2, 2, 2])
})

t.test('garbage in the Secret is reported and replaced, and never used', async (t) => {
  const cluster = await start(t)
  const { standIn } = cluster
  const { used, troubles, lines, followed } = replica(t, cluster)
  await until('it is used', () => used.length === 1)
  putSecret(standIn, { cert: 'garbage', key: 'garbage', ca: 'garbage' })
  await until('a second certificate is used', () => used.length === 2)
  const message = /^tls\.crt of Secret ridealong-system\/ridealong-own-tls contains no valid cert/
  t.match(troubles, [message])
  t.equal(troubles.length, 1, 'it is reported once')
  t.match(lines.join(''), /tls\.crt of Secret .* contains no valid certificate/)
  t.equal(followed.trouble, undefined)
})

t.test('a certificate that caBundle does not verify is not used before it does', async (t) => {
  const cluster = await start(t)
  const { standIn } = cluster
  putSecret(standIn, await makeOwnPair({ names: NAMES, now: Date.now(), durationMs: DURATION_MS }))
  standIn.faults.refuse = [/^PATCH .*mutatingwebhookconfigurations/, 403]
  const { used, followed, problem, lines, steps } = replica(t, cluster)
  await until('the problem is shown', () => /cannot write caBundle: .* 403/.test(problem() ?? ''))
  t.match(followed.trouble, 'caBundle of ridealong does not verify the certificate yet')
  await until('it is tried again', async () => ((await steps('trust', 'failed')) ?? 0) > 2)
  t.equal(used.length, 0)
  t.equal(lines.filter((line) => line.includes('cannot write caBundle')).length, 1)
  standIn.faults.refuse = undefined
  await until('it is used', () => used.length === 1)
  t.equal(problem(), undefined)
})

t.test('without permission for the Secret, the certificate stays in use', async (t) => {
  const cluster = await start(t)
  const { standIn } = cluster
  const { used, followed, troubles } = replica(t, cluster)
  await until('it is used', () => used.length === 1)
  standIn.faults.refuse = [/^(GET|PATCH) .*secrets/, 403]
  await until('the problem is shown', () => /says 403/.test(followed.trouble ?? ''))
  t.match(troubles, [/says 403/])
  t.equal(isServing({ followed }), true)
  standIn.faults.refuse = undefined
  await until('there is no problem', () => followed.trouble === undefined)
  t.equal(used.length, 1)
})

t.test('caBundle that was removed is written again, without a new certificate', async (t) => {
  const cluster = await start(t)
  const { standIn } = cluster
  const { used, steps } = replica(t, cluster)
  await until('it is used', () => used.length === 1)
  putConfiguration(standIn)
  await until('caBundle is written again', () => sizesOf(standIn).every((size) => size === 1))
  t.equal(await steps('prepare'), 1)
  t.equal(used.length, 1)
})

t.test('nothing is written while there is no webhook configuration', async (t) => {
  const cluster = await start(t)
  const { standIn } = cluster
  const { used, followed } = replica(t, cluster)
  await until('it is used', () => used.length === 1)
  const written = writesOf(standIn).length
  standIn.remove('mutatingwebhookconfigurations', 'ridealong')
  standIn.remove('secrets', SECRET, NAMESPACE)
  await sleep(300)
  t.equal(writesOf(standIn).length, written)
  t.equal(isServing({ followed }), true, 'open connections are still answered')
})

/** For each step: the write that fails until the first leader ends. */
const CRASHES = {
  prepare: /^PATCH .*secrets/,
  trust: /^PATCH .*mutatingwebhookconfigurations/,
} as const

for (const [step, write] of Object.entries(CRASHES)) {
  t.test(`a leader that ends before the step ${step} is replaced by another one`, async (t) => {
    const cluster = await start(t)
    const { standIn } = cluster
    standIn.faults.refuse = [write, 500]
    const first = replica(t, cluster)
    await until('the step was tried', async () => ((await first.steps(step, 'failed')) ?? 0) > 0)
    await first.followed.stop()
    standIn.faults.refuse = undefined
    const second = replica(t, cluster)
    await until('the certificate is used', () => second.used.length === 1)
    t.equal(first.used.length, 0)
    t.strictSame(sizesOf(standIn), [1, 1, 1])
  })
}

t.test(
  'a leader that ends before the switch is replaced, and the pause begins again',
  async (t) => {
    const cluster = await start(t)
    const first = replica(t, cluster, { pace: { settleMs: 3_600_000 } })
    await until('caBundle is written', async () => (await first.steps('trust')) === 1)
    await first.followed.stop()
    const second = replica(t, cluster)
    await until('the certificate is used', () => second.used.length === 1)
    t.equal(await second.steps('prepare'), 0, 'the prepared certificate is used')
    t.equal(await second.steps('trust'), 0)
  },
)

t.test('two leaders at the same time agree on one certificate', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const cluster = await start(t)
    const { standIn } = cluster
    const leaders = [replica(t, cluster, { lease: 'one' }), replica(t, cluster, { lease: 'two' })]
    const agree = () => {
      const [first, two] = leaders.map(({ followed }) => followed.current.cert)
      const secret = secretOf(standIn)
      const isSwitched = textOf(secret, 'next-tls.crt') === ''
      return isSwitched && first !== '' && first === two && first === textOf(secret, 'tls.crt')
    }
    await until('both use the same certificate', agree)
    await Promise.all(leaders.map(({ followed }) => followed.stop()))
  }
})

t.test('a lost connection to the apiserver does not change the certificate', async (t) => {
  const cluster = await start(t)
  const { used, followed } = replica(t, cluster)
  await until('it is used', () => used.length === 1)
  await cluster.stop()
  await until('the problem is shown', () => /ECONNREFUSED/.test(followed.trouble ?? ''))
  t.equal(isServing({ followed }), true)
  await cluster.restart()
  await until('there is no problem', () => followed.trouble === undefined)
  t.equal(used.length, 1)
})

/** Reports whether a server presents a certificate that a CA has issued. */
async function isServed(port: number, ca: string): Promise<boolean> {
  const socket = await openSocket(port, ca).catch(() => undefined)
  socket?.destroy()
  return socket !== undefined
}

t.test('a server listens at once, and is ready when the apiserver can call it', async (t) => {
  const { standIn, ca, port } = await startStandIn(t)
  for (const name of ['one', 'two']) standIn.put('leases', object(name))
  const kubeconfig = join(folder, 'config')
  writeFileSync(kubeconfig, kubeconfigOf(`https://127.0.0.1:${port}`, ca))
  const objects = { secret: `${NAMESPACE}/${SECRET}`, webhookConfiguration: 'ridealong' }
  const running = await startServer(t, {
    kubeconfig,
    keyPair: {
      ...objects,
      names: ['localhost'],
      lease: `${NAMESPACE}/one`,
      durationMs: DURATION_MS,
    },
    pace: QUICK,
  })
  const readyz = async () => {
    const { status, body } = await running.status('/readyz')
    return { status, checks: JSON.parse(body).checks }
  }
  await until('the Secret was read', async () => {
    return (
      (await readyz()).checks.certificate ===
      'Secret ridealong-system/ridealong-own-tls has no certificate yet'
    )
  })
  t.equal((await readyz()).status, 503)
  await t.rejects(openSocket(running.port, running.ca), 'a TLS handshake fails')
  putConfiguration(standIn)
  await until('the server is ready', async () => (await readyz()).status === 200)
  t.match((await readyz()).checks, { certificate: 'ok', 'own-certificates': 'ok' })
  const [bundle] = bundlesOf(standIn)
  const first = bundle?.authorities[0]?.pem ?? ''
  const socket = await openSocket(running.port, first)
  const { valid_to: end } = socket.getPeerCertificate()
  socket.destroy()
  const expiry = 'ridealong_certificate_expiry_timestamp_seconds'
  t.equal(sampleOf(await running.metrics(), expiry), Date.parse(end) / 1000)
  standIn.remove('secrets', SECRET, NAMESPACE)
  await until('a certificate of the new CA is used', async () => {
    const [added] = bundlesOf(standIn).flatMap(({ authorities }) =>
      authorities.filter(({ pem }) => pem !== first),
    )
    return added !== undefined && isServed(running.port, added.pem)
  })
  t.equal((await readyz()).status, 200)
})
