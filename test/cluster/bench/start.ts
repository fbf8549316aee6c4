import { mkdirSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { medianInterval } from '../../bench/median-interval.ts'
import { type Api, openApi } from '../api.ts'
import { type Cluster, down, find, type Kind, MINORS, type Say, up } from '../machine/cluster.ts'
import { buildAndLoad, DEBIAN_IMAGE } from '../machine/images.ts'
import { renderTemplate } from '../release/chart.ts'
import { OWN_IMAGES } from '../release/helm.ts'
import { withTools } from '../release/tool-images.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

/** The request of the pods, by the name of the contender. Pods without one have no observers. */
const REQUESTS = {
  none: undefined,
  'perf-sysstat': 'perf-sysstat',
  true: 'true',
  tools: 'true,mpi-trace,cpu-profile',
  mounted: 'true,mounted-mpi-trace,mounted-cpu-profile',
} as const

type Name = keyof typeof REQUESTS

/** The contenders of a measurement, and the most by which the time of one may exceed another's. */
interface Contest {
  readonly names: readonly [Name, Name, Name, Name]
  readonly limits: readonly Limit[]
}

interface Limit {
  readonly name: Name
  readonly over: Name
  readonly most: number
}

const USUAL: Contest = {
  names: ['none', 'perf-sysstat', 'true', 'tools'],
  limits: [
    { name: 'true', over: 'perf-sysstat', most: 1.1 },
    { name: 'tools', over: 'none', most: 3 },
  ],
}

/** The tools are also mounted from their image, which needs version 2 of containerd. */
const WITH_IMAGE_VOLUMES: Contest = {
  names: ['none', 'mounted', 'true', 'tools'],
  limits: [
    { name: 'mounted', over: 'none', most: 2 },
    { name: 'tools', over: 'none', most: 3 },
  ],
}

/**
 * The orders of the contenders in a round, one after the other. Each contender is equally often in
 * each place, and equally often before and after each other.
 */
const ORDERS = [
  [0, 1, 3, 2],
  [1, 2, 0, 3],
  [2, 3, 1, 0],
  [3, 0, 2, 1],
] as const

const NAMESPACE = 'bench-start'
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`
const KIND: Kind = { minor: MINORS[0], hasNode: true }

/**
 * The milliseconds from the creation of a pod to the first line of its application, by the name of
 * the contender.
 */
type Round = ReadonlyMap<Name, number>

export interface StartOptions {
  readonly rounds: number
  /** Whether tools are also mounted from their image, by version 2 of containerd. */
  readonly imageVolumes?: boolean
}

/**
 * Measures how much observers delay the first line of an application on a real kubelet, and prints
 * the times and their ratios. In each round, each contender starts one pod. Uses the cluster of
 * `npm run cluster` if it runs and has the containerd.
 *
 * @returns false if a ratio is above its limit, even at the lower end of its interval
 */
export async function benchStart(
  { rounds, imageVolumes = false }: StartOptions,
  say: Say,
  print: (line: string) => void,
): Promise<boolean> {
  const found = await find(KIND)
  const cluster = await up(imageVolumes ? { ...KIND, containerd: '2' } : KIND, say)
  const contest = imageVolumes ? WITH_IMAGE_VOLUMES : USUAL
  try {
    const targets = ['observer', 'tools'] as const
    await buildAndLoad(cluster, { targets }, say)
    return await measure(cluster, contest, rounds, say, print)
  } finally {
    if (found === undefined) await down(KIND, say)
  }
}

async function measure(
  cluster: Cluster,
  contest: Contest,
  rounds: number,
  say: Say,
  print: (line: string) => void,
): Promise<boolean> {
  const api = await openApi(cluster)
  await createNamespace(api)
  const catalog = await writeCatalog(cluster, contest)
  const words = ['--no-built-in-metrics', '--catalog', catalog]
  const webhook = await startWebhook(cluster, { words, built: true, namespace: NAMESPACE })
  try {
    print(`Load of the machine before the first round: ${loads()}`)
    say('starting pods that are not counted')
    await takeRound(api, contest, 0)
    const taken: Round[] = []
    for (let round = 0; round < rounds; round += 1) {
      say(`round ${round + 1} of ${rounds}`)
      taken.push(await takeRound(api, contest, round))
    }
    print(`Load of the machine after the last round: ${loads()}`)
    for (const line of tableOf(contest, taken)) print(line)
    const limits = contest.limits.map((limit) => checkLimit(taken, limit))
    for (const { line } of limits) print(line)
    return limits.every(({ holds }) => holds)
  } finally {
    await webhook.remove()
    await api.delete(`/api/v1/namespaces/${NAMESPACE}`)
    api.close()
  }
}

async function createNamespace(api: Api): Promise<void> {
  const metadata = { name: NAMESPACE, labels: { 'ridealong.dev/tools': 'true' } }
  await api.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata })
  await until('the namespace is ready', async () => {
    const account = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default`
    return (await api.get(account)).status === 200
  })
}

/**
 * Writes the catalog of the chart, with the images of this node, to a folder. If the contenders
 * need them, adds the metrics whose tools are mounted, with names of their own.
 */
async function writeCatalog({ folder }: Cluster, { names }: Contest): Promise<string> {
  const images = [...OWN_IMAGES, ...withTools(...TOOLS)]
  const catalog = join(folder, 'bench-catalog')
  mkdirSync(catalog, { recursive: true })
  const [{ data }] = await renderTemplate('catalog', images)
  for (const [name, text] of Object.entries<string>(data)) writeFileSync(join(catalog, name), text)
  if (!names.includes('mounted')) return catalog
  const volumes = ['--set', 'tools.imageVolumes=true', '--kube-version=1.36.0']
  const [mounted] = await renderTemplate('catalog', [...images, ...volumes])
  for (const name of TOOLS) {
    const text: string = mounted.data[`${name}.yaml`]
    const renamed = text.replace(`\n  name: ${name}\n`, `\n  name: mounted-${name}\n`)
    writeFileSync(join(catalog, `mounted-${name}.yaml`), renamed)
  }
  return catalog
}

const TOOLS = ['cpu-profile', 'mpi-trace'] as const

/** Starts a pod of each contender, one after another. */
async function takeRound(api: Api, { names }: Contest, round: number): Promise<Round> {
  const times: [Name, number][] = []
  for (const place of ORDERS[round % ORDERS.length] ?? [])
    times.push([names[place], await runPod(api, names[place])])
  return new Map(times)
}

/** Runs a pod to its end, and returns the milliseconds from its creation to its first line. */
async function runPod(api: Api, name: Name): Promise<number> {
  const request = REQUESTS[name]
  const annotations = request === undefined ? {} : { 'ridealong.dev/inject': request }
  const container = { name: 'app', image: DEBIAN_IMAGE, command: ['echo', 'first line'] }
  const spec = { containers: [container], restartPolicy: 'Never' }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, annotations }, spec }
  const created = Date.now()
  const { status, body } = await api.post(PODS, pod)
  if (status !== 201) throw new Error(`the pod ${name} was denied: ${body.message}`)
  checkRequest(name, body.metadata.annotations)
  const path = `${PODS}/${name}`
  await until(`the pod ${name} has ended`, async () => {
    return (await api.get(path)).body.status?.phase === 'Succeeded'
  })
  const log = await api.get(`${path}/log?container=app&timestamps=true`)
  const [time = ''] = String(log.body).split(' ')
  await api.delete(path)
  await until(`the pod ${name} is deleted`, async () => (await api.get(path)).status === 404)
  return Date.parse(time) - created
}

/** Throws if a pod has not been injected with what it requests. */
function checkRequest(name: Name, annotations: Readonly<Record<string, string>> = {}): void {
  const status = JSON.parse(annotations['ridealong.dev/status'] ?? '{}')
  const isExpected = (status.outcome === 'injected') === (REQUESTS[name] !== undefined)
  if (!isExpected) throw new Error(`the status of the pod ${name}: ${JSON.stringify(status)}`)
}

const loads = () =>
  loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')

/** Returns a table of the times in milliseconds and of their ratios to that without observers. */
function tableOf({ names }: Contest, rounds: readonly Round[]): readonly string[] {
  const none = median(timesOf(rounds, 'none'))
  const rows = names.map((name) => {
    const { [name]: request = 'nothing' } = REQUESTS
    const times = timesOf(rounds, name)
    const ratio = (median(times) / none).toFixed(2)
    return [request, ...[median(times), Math.min(...times), Math.max(...times)].map(whole), ratio]
  })
  return [['requested', 'median ms', 'least', 'most', 'ratio'], ...rows].map(
    ([first, ...cells]) => {
      return `${(first ?? '').padEnd(46)}${cells.map((cell) => cell.padStart(11)).join('')}`
    },
  )
}

/** Returns the times of a contender, by round. */
function timesOf(rounds: readonly Round[], name: Name): readonly number[] {
  return rounds.map((round) => round.get(name) ?? Number.NaN)
}

const whole = (value: number) => value.toFixed(0)

/** Compares a contender with another: the median of the ratios of all rounds, and its interval. */
function checkLimit(rounds: readonly Round[], { name, over, most }: Limit) {
  const others = timesOf(rounds, over)
  const ratios = timesOf(rounds, name).map((time, round) => time / (others[round] ?? Number.NaN))
  const [low = 0, high = Number.NaN] = medianInterval(ratios) ?? []
  const interval = `95 % interval ${low.toFixed(2)} to ${high.toFixed(2)}`
  const what = `${REQUESTS[name]} divided by ${REQUESTS[over] ?? 'nothing'}`
  const line = `${what}: ${median(ratios).toFixed(2)}, ${interval}, at most ${most}`
  return { line, holds: low <= most }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const at = sorted.length >> 1
  const [low = Number.NaN, high = Number.NaN] = [sorted[at - 1] ?? sorted[at], sorted[at]]
  return sorted.length % 2 === 0 ? (low + high) / 2 : high
}
