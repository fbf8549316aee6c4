/**
 * `npm run bench:cluster` measures by how much the webhook delays the creation of pods, through a
 * real apiserver. `npm run bench:cluster -- start` measures the start of pods (start.ts).
 *
 * Each run of the first compares no webhook, Ridealong, and a webhook that sends the same patch
 * without reading the pod. Each of these contenders has its own namespace. The absolute figures
 * depend on the machine, because all parts of the cluster run on one machine. The ratios do not:
 * in each round, each contender has one small batch, so a change in the speed of the machine
 * affects all contenders alike.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { makeAuthority, writeKeyPair } from '../../../certs/make.ts'
import { buildReviewer } from '../../../cli/shared/settings.ts'
import { readReview } from '../../../src/core/review.ts'
import { medianInterval } from '../../bench/median-interval.ts'
import { freePort } from '../../free-ports.ts'
import { reviewOf, sampleOf } from '../../webhook/server.ts'
import { type Api, openApi } from '../api.ts'
import { type Cluster, down, type Kind, MINORS, up } from '../machine/cluster.ts'
import { start, stop } from '../machine/daemon.ts'
import { problemOfPrerequisites } from '../machine/prerequisites.ts'
import { until } from '../until.ts'
import { CONFIGURATIONS, configure, startWebhook } from '../webhook.ts'
import { benchStart, type StartOptions } from './start.ts'

const CLIENTS = [1, 16, 64, 256] as const
const ROUNDS = 18
/** The number of rounds of `start`. */
const STARTS = 10
/**
 * The orders of the contenders in a round, one after the other. Each contender is equally often
 * first, second and third, and equally often before and after each other.
 */
const ORDERS = [
  ['none', 'ours', 'floor'],
  ['floor', 'ours', 'none'],
  ['ours', 'none', 'floor'],
  ['floor', 'none', 'ours'],
  ['none', 'floor', 'ours'],
  ['ours', 'floor', 'none'],
] as const
/** The number of pods in a batch: at least MIN_PODS, and PODS_OF_CLIENT for each client. */
const MIN_PODS = 100
const PODS_OF_CLIENT = 4
/** The number of batches of 256 clients that precede the measurement. */
const WARM_UPS = 3
const JOB_PODS = 2000

const say = (line: string) => process.stderr.write(`${line}\n`)
const print = (line: string) => process.stdout.write(`${line}\n`)

const PERF = { 'ridealong.dev/inject': 'perf-sysstat' }
const STATUS = 'ridealong.dev/status'
/** No node has this label, so the pods are never scheduled. */
const NOWHERE = { nodeSelector: { 'example.com/nowhere': 'true' } }
const SPEC = { containers: [{ name: 'app', image: 'app' }], restartPolicy: 'Never', ...NOWHERE }
const WEBHOOK = 'pods.ridealong.dev'

type Name = (typeof ORDERS)[number][number]

/** A contender of the benchmark: a webhook, or no webhook, with its own namespace. */
interface Contender {
  readonly name: Name
  readonly namespace: string
  end(): Promise<void>
}

async function startAll(cluster: Cluster, api: Api): Promise<readonly Contender[]> {
  const names = ['none', 'ours', 'floor'] as const
  for (const name of names) await createNamespace(api, namespaceOf(name))
  const webhook = await startWebhook(cluster, { built: true, namespace: namespaceOf('ours') })
  return [
    { name: 'none', namespace: namespaceOf('none'), end: async () => {} },
    { name: 'ours', namespace: namespaceOf('ours'), end: webhook.remove },
    await startFloor(cluster, api),
  ]
}

function namespaceOf(name: Name): string {
  return `bench-${name}`
}

const FLOOR = fileURLToPath(new URL('constant.ts', import.meta.url))

async function startFloor(cluster: Cluster, api: Api): Promise<Contender> {
  const namespace = namespaceOf('floor')
  const folder = join(cluster.folder, 'floor')
  const authority = await makeAuthority()
  await writeKeyPair(folder, authority, { names: ['127.0.0.1'] })
  const patch = join(folder, 'patch.json')
  writeFileSync(patch, JSON.stringify(await patchOfOurs(api, namespaceOf('none'))))
  const port = await freePort()
  const files = [join(folder, 'tls.crt'), join(folder, 'tls.key'), patch]
  const daemon = start(cluster.folder, process.execPath, [FLOOR, `${port}`, ...files], 'floor')
  const name = 'floor'
  const url = `https://127.0.0.1:${port}`
  await configure(cluster, api, { name, ca: authority.ca, url, namespace })
  return {
    name,
    namespace,
    end: async () => {
      await api.delete(`${CONFIGURATIONS}/${name}`)
      await stop(daemon)
    },
  }
}

/**
 * Returns Ridealong's patch for the pods of this run, after the apiserver has set the defaults of
 * the pods.
 */
async function patchOfOurs(api: Api, namespace: string) {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'pod', annotations: PERF },
    spec: SPEC,
  }
  const { body } = await api.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod)
  const review = readReview(reviewOf(body))
  if ('problem' in review) throw new Error(review.problem)
  return (await buildReviewer({}))(review).operations
}

/**
 * The results of a batch. `times` (of each pod) and `duration` (of the batch) are in milliseconds.
 */
interface Batch extends Account {
  readonly times: readonly number[]
  readonly duration: number
  readonly unpatched: number
}

async function createMany(
  api: Api,
  namespace: string,
  prefix: string,
  clients: number,
): Promise<Batch> {
  const count = Math.max(MIN_PODS, PODS_OF_CLIENT * clients)
  const before = await measuredBy(api)
  const times: number[] = []
  let next = 0
  let unpatched = 0
  const begin = performance.now()
  const client = async () => {
    while (next < count) {
      const metadata = { name: `${prefix}-${next}`, annotations: PERF }
      next += 1
      const at = performance.now()
      const object = { apiVersion: 'v1', kind: 'Pod', metadata, spec: SPEC }
      const { status, body } = await api.post(`/api/v1/namespaces/${namespace}/pods`, object)
      times.push(performance.now() - at)
      if (status !== 201) throw new Error(`a pod was denied: ${body.message}`)
      if (body.metadata.annotations[STATUS] === undefined) unpatched += 1
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const duration = performance.now() - begin
  return { times, duration, unpatched, ...since(before, await measuredBy(api)) }
}

/** The results of all batches of one contender, with one number of clients. */
function resultOf(batches: readonly Batch[]): readonly (number | string)[] {
  const times = batches.flatMap((batch) => batch.times)
  const sum = (of: (batch: Batch) => number) => batches.reduce((all, one) => all + of(one), 0)
  const perSecond = (times.length / sum((batch) => batch.duration)) * 1000
  const { p50, p95, p99 } = percentiles(times)
  const calls = sum((batch) => batch.calls)
  const admission = admissionOf({ seconds: sum((batch) => batch.seconds), calls })
  const counts = [sum((batch) => batch.unpatched), sum((batch) => batch.failedOpen)].map(String)
  return [perSecond, p50, p95, p99, admission, ...counts]
}

function percentiles(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/** Reads the apiserver's metrics about WEBHOOK, the name of both webhooks that are compared. */
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

function since(before: Account, after: Account): Account {
  return {
    seconds: after.seconds - before.seconds,
    calls: after.calls - before.calls,
    failedOpen: after.failedOpen - before.failedOpen,
  }
}

/** Returns the average time of a call in milliseconds; 0 if there was no call. */
function admissionOf({ seconds, calls }: Pick<Account, 'seconds' | 'calls'>): number {
  return calls === 0 ? 0 : (seconds / calls) * 1000
}

async function clear(api: Api, namespace: string): Promise<void> {
  const pods = `/api/v1/namespaces/${namespace}/pods`
  await api.delete(`${pods}?gracePeriodSeconds=0`)
  await until('the pods are deleted', async () => {
    return (await api.get(`${pods}?limit=1`)).body.items.length === 0
  })
}

/** Measures one Job, whose controller creates the pods as fast as its limits allow. */
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
    `${JOB_PODS} pods exist`,
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
  const account = since(before, await measuredBy(api))
  await api.delete(`${jobs}/job?propagationPolicy=Background`)
  await clear(api, namespace)
  return {
    perSecond: JOB_PODS / seconds,
    patched: body.items.length - unpatched.length,
    admission: admissionOf(account),
    failedOpen: account.failedOpen,
  }
}

const cells = (values: readonly (string | number)[]) =>
  values
    .map((value) => `${typeof value === 'number' ? value.toFixed(1) : value}`.padStart(10))
    .join('')

async function bench(cluster: Cluster, { clients, rounds }: Options): Promise<void> {
  const api = await openApi(cluster)
  const contenders = await startAll(cluster, api)
  print(
    'Pods that clients create at the same time (times in milliseconds, measured by the clients):',
  )
  print(cells(['clients', 'webhook', ...COLUMNS]))
  say('creating pods that are not counted, until V8 has compiled the code of the webhooks')
  for (let time = 0; time < WARM_UPS; time += 1) {
    for (const { namespace } of contenders) await createMany(api, namespace, 'first', 256)
    for (const { namespace } of contenders) await clear(api, namespace)
  }
  for (const count of clients) await compare(api, contenders, count, rounds)
  print(`\nOne Job of ${JOB_PODS} pods:`)
  print(cells(['webhook', 'pods/s', 'admission', 'patched', 'fail-open']))
  for (const contender of contenders) {
    const { perSecond, admission, patched, failedOpen } = await runJob(api, contender.namespace)
    print(cells([contender.name, perSecond, admission, `${patched}`, `${failedOpen}`]))
  }
  for (const { end } of contenders) await end()
  api.close()
}

async function createNamespace(api: Api, name: string): Promise<void> {
  await api.post('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  })
  await until('the namespace is ready', async () => {
    const account = `/api/v1/namespaces/${name}/serviceaccounts/default`
    return (await api.get(account)).status === 200
  })
}

const COLUMNS = ['pods/s', 'p50', 'p95', 'p99', 'admission', 'unpatched', 'fail-open']

/** Measures all contenders with this number of clients, and prints their results. */
async function compare(
  api: Api,
  contenders: readonly Contender[],
  clients: number,
  rounds: number,
): Promise<void> {
  const taken: Readonly<Record<Name, Batch>>[] = []
  // These creations open the connections of all clients. Their times are not counted.
  for (const { namespace } of contenders) await createMany(api, namespace, 'first', clients)
  for (const { namespace } of contenders) await clear(api, namespace)
  for (let round = 0; round < rounds; round += 1) {
    say(`${clients} clients, round ${round + 1} of ${rounds}`)
    taken.push(await takeRound(api, clients, round))
    for (const { namespace } of contenders) await clear(api, namespace)
  }
  for (const { name } of contenders) {
    print(cells([`${clients}`, name, ...resultOf(taken.map((round) => round[name]))]))
  }
  for (const share of ['p50', 'p95', 'p99'] as const) print(ratioOf(taken, clients, share))
}

/** Measures one batch of each contender. */
async function takeRound(
  api: Api,
  clients: number,
  round: number,
): Promise<Readonly<Record<Name, Batch>>> {
  const order = ORDERS[round % ORDERS.length] ?? ORDERS[0]
  const batches: [Name, Batch][] = []
  for (const name of order) {
    batches.push([name, await createMany(api, namespaceOf(name), `round-${round}`, clients)])
  }
  return Object.fromEntries(batches) as Record<Name, Batch>
}

/**
 * Compares a percentile of Ridealong's times with that of the constant webhook: the median of the
 * ratios of all rounds, and its confidence interval.
 */
function ratioOf(
  rounds: readonly Readonly<Record<Name, Batch>>[],
  clients: number,
  share: 'p50' | 'p95' | 'p99',
): string {
  const ratios = rounds
    .map(({ ours, floor }) => percentiles(ours.times)[share] / percentiles(floor.times)[share])
    .toSorted((one, other) => one - other)
  const [low = Number.NaN, high = Number.NaN] = medianInterval(ratios) ?? []
  const middle = ratios[ratios.length >> 1] ?? Number.NaN
  const limits = `95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}`
  const what = `${clients} clients: ${share} of ours divided by ${share} of floor`
  return `${what}: ${middle.toFixed(3)}, ${limits}`
}

const KIND: Kind = { minor: MINORS[0], hasNode: false }

interface Options {
  readonly clients: readonly number[]
  readonly rounds: number
}

/** Reads a positive whole number of the command line. */
function readCount(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Use a whole number from 1 to 9999.')
}

const program = new Command('bench:cluster').description(
  'measure by how much Ridealong delays pods in a real cluster',
)

program
  .command('create', { isDefault: true })
  .description('measure by how much the webhook delays the creation of pods')
  .option('--clients <number...>', 'the numbers of clients', (text, before: number[] = []) => [
    ...before,
    readCount(text),
  ])
  .option('--rounds <number>', 'the rounds; six or more give an interval', readCount, ROUNDS)
  .addHelpText(
    'after',
    `
Examples:
  $ npm run bench:cluster
  $ npm run bench:cluster -- --clients 64 256 --rounds 30`,
  )
  .action(async ({ clients = CLIENTS, rounds }: Partial<Options> & { rounds: number }) => {
    if (!(await hasPrerequisites(false))) return
    const cluster = await up(KIND, say)
    await bench(cluster, { clients, rounds }).finally(() => down(KIND, say))
  })

program
  .command('start')
  .description('measure by how much observers delay the first line of an application')
  .option('--rounds <number>', 'the rounds; six or more give an interval', readCount, STARTS)
  .option('--image-volumes', 'also mount the tools from their image, with containerd 2')
  .action(async (options: StartOptions) => {
    if (!(await hasPrerequisites(true))) return
    if (!(await benchStart(options, say, print))) process.exitCode = 1
  })

/** Prints a sentence about missing prerequisites, and sets the exit code. */
async function hasPrerequisites(hasNode: boolean): Promise<boolean> {
  const problem = await problemOfPrerequisites(hasNode)
  if (problem === undefined) return true
  say(problem)
  process.exitCode = 2
  return false
}

program.parseAsync().catch((error) => {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 2
})
