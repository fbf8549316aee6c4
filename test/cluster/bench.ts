/**
 * What the webhook costs those who create pods, through the real apiserver: `npm run bench:cluster`. In
 * turns of one run: without a webhook, with ours, and with one that answers the same patch without
 * looking at the pod. The absolute figures are those of the machine, on which everything runs at once.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeAuthority, writeKeyPair } from '../../certs/make.ts'
import { answererOf } from '../../src/cli/settings.ts'
import { readReview } from '../../src/core/review.ts'
import { reviewOf, sampleOf } from '../server.ts'
import { type Api, openApi } from './api.ts'
import { type Cluster, down, freePorts, type Kind, MINORS, up } from './cluster.ts'
import { start, stop } from './daemon.ts'
import { problemOfPrerequisites } from './prerequisites.ts'
import { until } from './until.ts'
import { CONFIGURATIONS, configure, startWebhook } from './webhook.ts'

const CLIENTS = [1, 16, 64, 256] as const
const TURNS = 3
/** Pods that one client creates; several share a larger number. */
const PODS_OF_ONE = 150
const PODS = 600
const JOB_PODS = 2000

const say = (line: string) => process.stderr.write(`${line}\n`)
const print = (line: string) => process.stdout.write(`${line}\n`)

const PERF = { 'ridealong.dev/inject': 'perf-sysstat' }
const STATUS = 'ridealong.dev/status'
/** No node has it: pods are created and go nowhere. */
const NOWHERE = { nodeSelector: { 'example.com/nowhere': 'true' } }
const SPEC = { containers: [{ name: 'app', image: 'app' }], restartPolicy: 'Never', ...NOWHERE }
const WEBHOOK = 'pods.ridealong.dev'

/** What stands between the client and its pod. */
interface Contender {
  readonly name: 'none' | 'ours' | 'floor'
  /** Starts it; the returned function ends it. */
  begin(): Promise<() => Promise<void>>
}

/** What one turn took. Milliseconds. */
interface Turn {
  readonly perSecond: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /** What the apiserver says that the webhook took, on average. */
  readonly admission: number
  readonly unpatched: number
  readonly failedOpen: number
}

function contendersOf(cluster: Cluster, api: Api): readonly Contender[] {
  return [
    { name: 'none', begin: async () => async () => {} },
    {
      name: 'ours',
      begin: async () => {
        const webhook = await startWebhook(cluster, { built: true })
        return webhook.remove
      },
    },
    { name: 'floor', begin: () => startFloor(cluster, api) },
  ]
}

const FLOOR = fileURLToPath(new URL('constant.ts', import.meta.url))

async function startFloor(cluster: Cluster, api: Api): Promise<() => Promise<void>> {
  const folder = join(cluster.folder, 'floor')
  const authority = await makeAuthority()
  await writeKeyPair(folder, authority, { names: ['127.0.0.1'] })
  const patch = join(folder, 'patch.json')
  writeFileSync(patch, JSON.stringify(await patchOfOurs()))
  const [port = 0] = await freePorts(1)
  const files = [join(folder, 'tls.crt'), join(folder, 'tls.key'), patch]
  const daemon = start(cluster.folder, process.execPath, [FLOOR, `${port}`, ...files], 'floor')
  const name = 'floor'
  await configure(cluster, api, { name, ca: authority.ca, url: `https://127.0.0.1:${port}` })
  return async () => {
    await api.delete(`${CONFIGURATIONS}/${name}`)
    await stop(daemon)
  }
}

/** What our webhook answers to the pods of this run. */
async function patchOfOurs() {
  const object = { metadata: { name: 'pod', annotations: PERF }, spec: SPEC }
  const review = readReview(reviewOf(object))
  if ('problem' in review) throw new Error(review.problem)
  return (await answererOf({}))(review).operations
}

async function createMany(api: Api, namespace: string, clients: number): Promise<Turn> {
  const count = clients === 1 ? PODS_OF_ONE : PODS
  const before = await measuredBy(api)
  const times: number[] = []
  let next = 0
  let unpatched = 0
  const begin = performance.now()
  const client = async () => {
    while (next < count) {
      const metadata = { name: `pod-${next}`, annotations: PERF }
      next += 1
      const at = performance.now()
      const object = { apiVersion: 'v1', kind: 'Pod', metadata, spec: SPEC }
      const { status, body } = await api.post(`/api/v1/namespaces/${namespace}/pods`, object)
      times.push(performance.now() - at)
      if (status !== 201) throw new Error(`a pod was refused: ${body.message}`)
      if (body.metadata.annotations[STATUS] === undefined) unpatched += 1
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const seconds = (performance.now() - begin) / 1000
  const after = await measuredBy(api)
  await clear(api, namespace)
  return { perSecond: count / seconds, ...percentiles(times), ...since(before, after), unpatched }
}

function percentiles(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/** The apiserver's own account of its webhooks. */
async function measuredBy(api: Api) {
  const { body } = await api.get('/metrics')
  const sample = (name: string) => sampleOf(body, name, { name: WEBHOOK }) ?? 0
  const duration = 'apiserver_admission_webhook_admission_duration_seconds'
  return {
    seconds: sample(`${duration}_sum`),
    calls: sample(`${duration}_count`),
    failedOpen: sample('apiserver_admission_webhook_fail_open_count'),
  }
}

type Account = Awaited<ReturnType<typeof measuredBy>>

function since(before: Account, after: Account) {
  const calls = after.calls - before.calls
  const admission = calls === 0 ? 0 : ((after.seconds - before.seconds) / calls) * 1000
  return { admission, failedOpen: after.failedOpen - before.failedOpen }
}

async function clear(api: Api, namespace: string): Promise<void> {
  const pods = `/api/v1/namespaces/${namespace}/pods`
  await api.delete(`${pods}?gracePeriodSeconds=0`)
  await until('the pods are gone', async () => {
    return (await api.get(`${pods}?limit=1`)).body.items.length === 0
  })
}

/** One Job: its controller creates the pods, as fast as it may. */
async function runJob(api: Api, namespace: string) {
  const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`
  const before = await measuredBy(api)
  const template = { metadata: { annotations: PERF }, spec: SPEC }
  const spec = { completions: JOB_PODS, parallelism: JOB_PODS, completionMode: 'Indexed', template }
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'job' }, spec }
  const begin = performance.now()
  await api.post(jobs, job)
  const pods = `/api/v1/namespaces/${namespace}/pods`
  await until(
    `${JOB_PODS} pods are there`,
    async () => {
      const { body } = await api.get(`${jobs}/job`)
      return body.status?.active === JOB_PODS
    },
    600_000,
  )
  const seconds = (performance.now() - begin) / 1000
  const { body } = await api.get(pods)
  const unpatched = body.items.filter((pod: { metadata: { annotations?: object } }) => {
    return !(STATUS in (pod.metadata.annotations ?? {}))
  })
  const after = await measuredBy(api)
  await api.delete(`${jobs}/job?propagationPolicy=Background`)
  await clear(api, namespace)
  return {
    perSecond: JOB_PODS / seconds,
    patched: body.items.length - unpatched.length,
    ...since(before, after),
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

const cells = (values: readonly (string | number)[]) =>
  values
    .map((value) => `${typeof value === 'number' ? value.toFixed(1) : value}`.padStart(10))
    .join('')

async function bench(cluster: Cluster): Promise<void> {
  const api = await openApi(cluster)
  const namespace = 'bench'
  await api.post('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  })
  await until('the namespace is ready', async () => {
    const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
    return (await api.get(account)).status === 200
  })
  const contenders = contendersOf(cluster, api)
  const results = new Map<string, Turn[]>()
  print('Pods created by clients at the same time, milliseconds as a client sees them:')
  print(
    cells([
      'turn',
      'clients',
      'webhook',
      'pods/s',
      'p50',
      'p95',
      'p99',
      'admission',
      'unpatched',
      'fail-open',
    ]),
  )
  for (let turn = 1; turn <= TURNS; turn += 1) {
    for (const contender of contenders) {
      const end = await contender.begin()
      // The first pods warm up what runs for the first time.
      await createMany(api, namespace, 16)
      for (const clients of CLIENTS) {
        const took = await createMany(api, namespace, clients)
        const key = `${contender.name} ${clients}`
        results.set(key, [...(results.get(key) ?? []), took])
        const { perSecond, p50, p95, p99, admission, unpatched, failedOpen } = took
        const row = [`${turn}`, `${clients}`, contender.name, perSecond, p50, p95, p99, admission]
        print(cells([...row, `${unpatched}`, `${failedOpen}`]))
      }
      await end()
    }
  }
  for (const clients of CLIENTS) print(ratioAt(results, clients))
  print(`\nOne Job of ${JOB_PODS} pods:`)
  print(cells(['webhook', 'pods/s', 'admission', 'patched', 'fail-open']))
  for (const contender of contenders) {
    const end = await contender.begin()
    const { perSecond, admission, patched, failedOpen } = await runJob(api, namespace)
    print(cells([contender.name, perSecond, admission, `${patched}`, `${failedOpen}`]))
    await end()
  }
  api.close()
}

/** The p95 of ours against the floor's, turn by turn. */
function ratioAt(results: ReadonlyMap<string, readonly Turn[]>, clients: number): string {
  const [ours = [], floor = []] = ['ours', 'floor'].map((name) => results.get(`${name} ${clients}`))
  const ratios = ours.map(({ p95 }, turn) => p95 / (floor[turn]?.p95 ?? Number.NaN))
  return `${clients} clients: p95 with ours against the floor, median of ${TURNS}: ${median(ratios).toFixed(3)}`
}

const KIND: Kind = { minor: MINORS[0], hasNode: false }

const problem = await problemOfPrerequisites(false)
if (problem === undefined) {
  const cluster = await up(KIND, say)
  await bench(cluster).finally(() => down(KIND, say))
} else {
  say(problem)
  process.exitCode = 2
}
