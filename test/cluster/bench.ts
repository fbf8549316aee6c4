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
const NAMESPACE = 'bench'

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
  writeFileSync(patch, JSON.stringify(await patchOfOurs(api)))
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

/** What our webhook answers to the pods of this run, as the apiserver fills them in. */
async function patchOfOurs(api: Api) {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'pod', annotations: PERF },
    spec: SPEC,
  }
  const { body } = await api.post(`/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`, pod)
  const review = readReview(reviewOf(body))
  if ('problem' in review) throw new Error(review.problem)
  return (await answererOf({}))(review).operations
}

async function createMany(api: Api, clients: number): Promise<Turn> {
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
      const { status, body } = await api.post(`/api/v1/namespaces/${NAMESPACE}/pods`, object)
      times.push(performance.now() - at)
      if (status !== 201) throw new Error(`a pod was refused: ${body.message}`)
      if (body.metadata.annotations[STATUS] === undefined) unpatched += 1
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const seconds = (performance.now() - begin) / 1000
  const after = await measuredBy(api)
  await clear(api)
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

async function clear(api: Api): Promise<void> {
  const pods = `/api/v1/namespaces/${NAMESPACE}/pods`
  await api.delete(`${pods}?gracePeriodSeconds=0`)
  await until('the pods are gone', async () => {
    return (await api.get(`${pods}?limit=1`)).body.items.length === 0
  })
}

/** One Job: its controller creates the pods, as fast as it may. */
async function runJob(api: Api) {
  const jobs = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`
  const before = await measuredBy(api)
  const template = { metadata: { annotations: PERF }, spec: SPEC }
  const spec = { completions: JOB_PODS, parallelism: JOB_PODS, completionMode: 'Indexed', template }
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'job' }, spec }
  const begin = performance.now()
  await api.post(jobs, job)
  const pods = `/api/v1/namespaces/${NAMESPACE}/pods`
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
  await clear(api)
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
  await createNamespace(api)
  const contenders = contendersOf(cluster, api)
  print('Pods created by clients at the same time, milliseconds as a client sees them:')
  print(cells(['turn', 'clients', 'webhook', ...COLUMNS]))
  const turns: (readonly Row[])[] = []
  for (let turn = 1; turn <= TURNS; turn += 1) turns.push(await takeTurn(api, contenders, turn))
  for (const clients of CLIENTS) print(ratioAt(turns.flat(), clients))
  print(`\nOne Job of ${JOB_PODS} pods:`)
  print(cells(['webhook', 'pods/s', 'admission', 'patched', 'fail-open']))
  for (const contender of contenders) {
    const end = await contender.begin()
    const { perSecond, admission, patched, failedOpen } = await runJob(api)
    print(cells([contender.name, perSecond, admission, `${patched}`, `${failedOpen}`]))
    await end()
  }
  api.close()
}

async function createNamespace(api: Api): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }
  await api.post('/api/v1/namespaces', namespace)
  await until('the namespace is ready', async () => {
    const account = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default`
    return (await api.get(account)).status === 200
  })
}

const COLUMNS = ['pods/s', 'p50', 'p95', 'p99', 'admission', 'unpatched', 'fail-open']

/** What one contender took with so many clients. */
interface Row extends Turn {
  readonly name: Contender['name']
  readonly clients: number
}

async function takeTurn(api: Api, contenders: readonly Contender[], turn: number): Promise<Row[]> {
  const rows: Row[] = []
  for (const { name, begin } of contenders) {
    const end = await begin()
    // The first pods warm up what runs for the first time.
    await createMany(api, 16)
    for (const clients of CLIENTS) {
      const row = { name, clients, ...(await createMany(api, clients)) }
      rows.push(row)
      const { perSecond, p50, p95, p99, admission, unpatched, failedOpen } = row
      const counts = [unpatched, failedOpen].map(String)
      print(cells([`${turn}`, `${clients}`, name, perSecond, p50, p95, p99, admission, ...counts]))
    }
    await end()
  }
  return rows
}

/** The p95 of ours against the floor's, turn by turn. */
function ratioAt(rows: readonly Row[], clients: number): string {
  const p95Of = (wanted: Contender['name']) =>
    rows.filter((row) => row.name === wanted && row.clients === clients).map(({ p95 }) => p95)
  const floor = p95Of('floor')
  const ratios = p95Of('ours').map((p95, turn) => p95 / (floor[turn] ?? Number.NaN))
  const each = ratios.map((ratio) => ratio.toFixed(3)).join(', ')
  return `${clients} clients: p95 with ours against the floor: ${each}; median ${median(ratios).toFixed(3)}`
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
