import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PAGE } from '../../../src/cluster/reflect/list.ts'
import { type Api, openApi } from '../../cluster/api.ts'
import { type Kind as ClusterKind, down, find, MINORS, up } from '../../cluster/machine/cluster.ts'
import type { ProgramFlags } from '../../cluster/machine/control-plane.ts'
import { type Daemon, stop } from '../../cluster/machine/daemon.ts'
import { until } from '../../until.ts'
import { sampleOf } from '../../webhook/server.ts'
import { type AuditedRequest, auditPolicy, type ObservedScan, readAudit, scansIn } from './audit.ts'
import type { Defer } from './ending.ts'
import { type Installation, install, type RunningReplica, USER } from './installation.ts'
import {
  type CreatedNamespaces,
  type CreatedPods,
  countOf,
  createNamespaces,
  createPods,
  type JobResult,
  type Kind,
  runJob,
  type Say,
} from './load.ts'
import { patient } from './patient-api.ts'
import { measurePropagation } from './propagation.ts'
import { createNodes, NODE_GRACE, startKwok } from './simulated-nodes.ts'
import { describeSize, type Size } from './size.ts'
import { sampleUsage, type UsageSample } from './usage.ts'

/** Everything that was measured in a cluster of one size. */
export interface Measurement {
  readonly size: Size
  readonly namespaces: CreatedNamespaces
  readonly pods: Readonly<Record<Kind, CreatedPods>>
  readonly jobs: Readonly<Record<Kind, JobResult>>
  /** The number of pods in the cluster at the end. */
  readonly podsAtEnd: number
  /** The number of reviews of pods, and their average duration in milliseconds. */
  readonly reviews: { readonly count: number; readonly ms: number }
  /** The number of times that the apiserver got no answer. */
  readonly failedOpen: number
  /** The number of missed pods that the last scan has counted. */
  readonly scannedMissed: number
  /** The time in milliseconds until all replicas knew a change of a namespace, of each change. */
  readonly propagation: readonly number[]
  /** The start of one more replica, with all objects in the cluster, in seconds. */
  readonly startSeconds: number
  /** The usage of the two replicas and of the apiserver. */
  readonly usage: readonly UsageSample[]
  /** The usage during the creation of the pods. */
  readonly creation: readonly UsageSample[]
  /** The highest memory use of each replica's cgroup, in MiB. */
  readonly peaks: readonly (number | undefined)[]
  /** The requests of the replicas to the apiserver, until the two replicas were stopped. */
  readonly requests: readonly AuditedRequest[]
  /** The time for which the requests were counted, in seconds. */
  readonly seconds: number
  /** A scan of all pods, while nothing else happens in the cluster. */
  readonly lastScan: ObservedScan
}

/** The size at which etcd stops writing, in bytes. The default would be too small. */
const ETCD_QUOTA = 16 * 1024 ** 3
const CLUSTER: ClusterKind = { minor: MINORS[0], hasNode: false }

/**
 * Measures a cluster of one size, which is started for this measurement.
 *
 * @param defer registers the actions that end everything, in reverse order
 * @throws an error if a cluster of the tests is already running
 */
export async function measure(size: Size, say: Say, defer: Defer): Promise<Measurement> {
  say(`starting a cluster: ${describeSize(size)}`)
  if ((await find(CLUSTER)) !== undefined)
    throw new Error('a cluster is already running; end it with: npm run cluster -- down --no-node')
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-scale-'))
  defer(() => rm(folder, { recursive: true, force: true }))
  defer(() => down(CLUSTER, say))
  const cluster = await up(CLUSTER, say, programFlags(folder))
  const plain = await openApi(cluster)
  defer(async () => plain.close())
  const api = patient(plain)
  const kwok = await startKwok(cluster, say)
  defer(() => stop(kwok))
  say('creating nodes')
  await createNodes(api, size.nodes)
  say('starting two replicas')
  const installation = await install(cluster, api, defer)
  const apiserver = cluster.daemons.find(({ name }) => name === 'kube-apiserver')
  const pids = [...installation.replicas.map(({ daemon }) => daemon.pid), apiserver?.pid ?? 0]
  const sampling = sampleUsage(pids)
  defer(async () => sampling.stop())
  const begin = performance.now()
  const read = () => readAudit(readFileSync(join(folder, AUDIT), 'utf8'))
  const loaded = await load(api, installation, { size, say, samples: sampling.samples })
  say('stopping kwok and the controllers')
  const daemons = [kwok, ...cluster.daemons]
  for (const daemon of daemons.filter(changesPods)) await stop(daemon)
  const results = { ...loaded, ...(await measureAtRest(api, installation, say)) }
  sampling.stop()
  const peaks = installation.replicas.map(({ peak }) => peak())
  const seconds = (performance.now() - begin) / 1000
  const last = await scanAgain(installation, { ...results, say, read })
  return { size, ...results, ...last, usage: sampling.samples, peaks, seconds }
}

/**
 * The programs that could still change pods after the Jobs, as kwok does for minutes when it lists
 * all pods again. They would disturb the last measurements, which do not need them.
 */
const PROGRAMS = ['kwok', 'kube-controller-manager', 'kube-scheduler']
const changesPods = ({ name }: Daemon) => PROGRAMS.includes(name)

const AUDIT = 'audit.log'

/** The audit log is in a folder of its own, which is removed after the cluster. */
function programFlags(folder: string): ProgramFlags {
  const policy = join(folder, 'audit-policy.json')
  writeFileSync(policy, JSON.stringify(auditPolicy(USER)))
  return {
    etcd: { 'quota-backend-bytes': ETCD_QUOTA },
    apiserver: {
      'audit-policy-file': policy,
      'audit-log-path': join(folder, AUDIT),
      'audit-log-maxsize': 10_000,
    },
    controllerManager: { 'node-monitor-grace-period': NODE_GRACE },
    // By default, the scheduler binds only 50 pods per second.
    scheduler: { 'kube-api-qps': 1000, 'kube-api-burst': 2000 },
  }
}

interface Loading {
  readonly size: Size
  readonly say: Say
  readonly samples: readonly UsageSample[]
}

async function load(api: Api, installation: Installation, { size, say, samples }: Loading) {
  const { replicas } = installation
  const failedBefore = await failedOpenOf(api)
  say('creating namespaces')
  const namespaces = await createNamespaces(api, size, say)
  say('creating pods')
  const first = samples.length - 1
  const pods = await createPods(api, size, say)
  const creation = samples.slice(first)
  say('running the Jobs')
  const without = await runJob(api, 'without', size.jobPods, say)
  const jobs = { without, with: await runJob(api, 'with', size.jobPods, say) }
  const podsAtEnd = await countOf(api, '/api/v1/pods')
  const reviews = await reviewsOf(replicas)
  const failedOpen = (await failedOpenOf(api)) - failedBefore
  return { namespaces, pods, jobs, reviews, failedOpen, podsAtEnd, creation }
}

/** Measures what needs a cluster in which nothing else happens. */
async function measureAtRest(api: Api, installation: Installation, say: Say) {
  say('changing a namespace')
  const propagation = await measurePropagation(api, installation, 'scale-0')
  say('starting one more replica')
  return { propagation, third: await installation.startReplica() }
}

interface ScanningAgain {
  readonly say: Say
  /** Reads the requests of all replicas so far. */
  read(): readonly AuditedRequest[]
  readonly podsAtEnd: number
  readonly third: RunningReplica
}

/**
 * Measures several scans of all pods, and returns the one of median length, because the length of a
 * short scan varies much. Each scan is made by a new replica as soon as the other replicas have
 * stopped. The same replica would wait for minutes between two scans, because of their limit.
 */
async function scanAgain(installation: Installation, loaded: ScanningAgain) {
  const { third, podsAtEnd, say, read } = loaded
  const requests = read()
  const scans: ObservedScan[] = []
  let [others, replica] = [installation.replicas, third]
  while (scans.length < SCANS) {
    say(`scan ${scans.length + 1} of ${SCANS}: a new replica scans all ${podsAtEnd} pods`)
    if (scans.length > 0) [others, replica] = [[replica], await installation.startReplica()]
    scans.push(await scanOf(replica, others, loaded))
  }
  const [, median] = scans.toSorted((one, other) => lengthOf(one) - lengthOf(other))
  const scannedMissed = (await missedBy(replica)) ?? Number.NaN
  const { startSeconds } = third
  return { requests, startSeconds, scannedMissed, lastScan: median as ObservedScan }
}

/** Stops the other replicas, and returns the scan of this one. */
async function scanOf(
  replica: RunningReplica,
  others: readonly RunningReplica[],
  { podsAtEnd, read }: ScanningAgain,
): Promise<ObservedScan> {
  const begin = Date.now()
  for (const { stop: stopReplica } of others) await stopReplica()
  const scans = () => scansIn(read()).filter((scan) => scan.begin >= begin)
  const isWhole = ({ pages }: ObservedScan) => pages >= Math.ceil(podsAtEnd / Number(PAGE))
  const waiting = { patienceMs: PATIENCE_MS, pauseMs: PAUSE_MS }
  await until('a scan has listed all pods', () => scans().some(isWhole), waiting)
  await until('the replica counts', async () => (await missedBy(replica)) !== undefined)
  return scans().find(isWhole) as ObservedScan
}

async function missedBy({ metrics }: RunningReplica): Promise<number | undefined> {
  return sampleOf(await metrics(), 'ridealong_unobserved_pods')
}

const SCANS = 3
const lengthOf = ({ begin, end }: ObservedScan) => end - begin

async function reviewsOf(replicas: readonly RunningReplica[]): Promise<Measurement['reviews']> {
  const texts = await Promise.all(replicas.map(({ metrics }) => metrics()))
  const sum = (name: string) =>
    texts.reduce((all, text) => all + (sampleOf(text, `ridealong_review_duration_${name}`) ?? 0), 0)
  const count = sum('seconds_count')
  return { count, ms: (sum('seconds_sum') / count) * 1000 }
}

async function failedOpenOf(api: Api): Promise<number> {
  const { body } = await api.get('/metrics')
  return sampleOf(body, 'apiserver_admission_webhook_fail_open_count') ?? 0
}

const PATIENCE_MS = 900_000
/** The audit log becomes so long that it must not be read often. */
const PAUSE_MS = 2000
