import type { Answer, Api } from '../../cluster/api.ts'
import { until } from '../../cluster/until.ts'
import { until as untilHolds } from '../../until.ts'
import { inParallel, succeeded } from './patient-api.ts'
import { nodeName } from './simulated-nodes.ts'
import { ASKING_SHARE, type Size } from './size.ts'

const CLIENTS = 32
/** The number of pods that are created with observers, or without, before the other kind. */
const BATCH = 200

const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }
const STATUS = 'ridealong.dev/status'

/** Reports progress. */
export type Say = (line: string) => void

const namespaceName = (index: number) => `scale-${index}`
const isAsking = (index: number) => index % ASKING_SHARE === 0

/** Returns the name of a namespace that requests metrics, or of one that does not. */
function namespaceOf(kind: Kind, index: number, { asking }: Size): string {
  const place = (index % asking) * ASKING_SHARE
  return namespaceName(kind === 'with' ? place : place + 1)
}

/** Pods with observers, which request them, or pods for which the webhook is not called. */
export type Kind = 'with' | 'without'

async function createNamespace(api: Api, name: string, asks: boolean): Promise<Answer> {
  const metadata = { name, ...(asks && { annotations: ASKS }) }
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata }
  return succeeded(await api.post('/api/v1/namespaces', object))
}

export interface CreatedNamespaces {
  readonly seconds: number
  /** The number of namespaces that request metrics and were not labelled at their creation. */
  readonly unarmed: number
}

/** Creates all namespaces, and waits until pods can be created in them. */
export async function createNamespaces(
  api: Api,
  { namespaces }: Size,
  say: Say,
): Promise<CreatedNamespaces> {
  const begin = performance.now()
  const progress = progressOf('namespaces', namespaces, say)
  const labelled = await inParallel(namespaces, CLIENTS, async (index) => {
    const { body } = await createNamespace(api, namespaceName(index), isAsking(index))
    progress(index)
    return body.metadata.labels['ridealong.dev/armed'] === 'true' || !isAsking(index)
  })
  const seconds = (performance.now() - begin) / 1000
  const last = namespaceName(namespaces - 1)
  await until(`${last} has a service account`, () => hasAccount(api, last))
  return { seconds, unarmed: labelled.filter((isLabelled) => !isLabelled).length }
}

async function hasAccount(api: Api, namespace: string): Promise<boolean> {
  const { status } = await api.get(`/api/v1/namespaces/${namespace}/serviceaccounts/default`)
  return status === 200
}

/** Returns a function that says how far a task is, about ten times. */
function progressOf(what: string, count: number, say: Say): (done: number) => void {
  const step = Math.max(100, Math.ceil(count / 10))
  let next = step
  return (done) => {
    if (done < next) return
    next = done + step
    say(`${done} of ${count} ${what}`)
  }
}

const SPEC = { containers: [{ name: 'app', image: 'app' }] }

/** The result of creating pods of one kind. */
export interface CreatedPods {
  /** The time of each creation in milliseconds, measured by the client. */
  readonly times: readonly number[]
  readonly seconds: number
  /** The number of pods without the status `injected`. */
  readonly unobserved: number
}

/**
 * Creates all pods, one half with observers and one half without, and waits until all run. Batches
 * of both kinds alternate, so that a change in the speed of the machine affects both kinds alike.
 * The next round of batches begins only after all pods run. Otherwise, kwok falls behind until the
 * apiserver ends its watch. It then lists all pods again, and starts many of them twice.
 */
export async function createPods(
  api: Api,
  size: Size,
  say: Say,
): Promise<Readonly<Record<Kind, CreatedPods>>> {
  const batches: Record<Kind, CreatedPods[]> = { with: [], without: [] }
  const progress = progressOf('pods', size.pods, say)
  // With a fixed order, one kind would always follow the other.
  const order: readonly Kind[] = ['with', 'without', 'without', 'with']
  const batch = Math.min(BATCH, Math.ceil(size.pods / order.length))
  for (let first = 0, turn = 0; first < size.pods; first += batch, turn += 1) {
    const kind = order[turn % order.length] ?? 'with'
    const count = Math.min(batch, size.pods - first)
    batches[kind].push(await createBatch(api, { kind, first, count, size }))
    const isRoundOver = (turn + 1) % order.length === 0 || first + count === size.pods
    if (isRoundOver) await untilAllRun(api)
    progress(first + count)
  }
  return { with: together(batches.with), without: together(batches.without) }
}

interface Batch {
  readonly kind: Kind
  readonly first: number
  readonly count: number
  readonly size: Size
}

async function createBatch(api: Api, { kind, first, count, size }: Batch): Promise<CreatedPods> {
  const begin = performance.now()
  const pods = await inParallel(count, CLIENTS, async (offset) => {
    const index = first + offset
    const at = performance.now()
    const { body } = succeeded(
      await api.post(`/api/v1/namespaces/${namespaceOf(kind, index, size)}/pods`, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: `pod-${index}` },
        spec: { ...SPEC, nodeName: nodeName(index % size.nodes) },
      }),
    )
    return { time: performance.now() - at, isInjected: isInjected(body) }
  })
  return {
    times: pods.map(({ time }) => time),
    seconds: (performance.now() - begin) / 1000,
    unobserved: pods.filter(({ isInjected }) => !isInjected).length,
  }
}

function together(batches: readonly CreatedPods[]): CreatedPods {
  return {
    times: batches.flatMap(({ times }) => times),
    seconds: batches.reduce((sum, { seconds }) => sum + seconds, 0),
    unobserved: batches.reduce((sum, { unobserved }) => sum + unobserved, 0),
  }
}

interface Pod {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
}

function isInjected({ metadata }: Pod): boolean {
  return metadata.annotations?.[STATUS]?.includes('"outcome":"injected"') === true
}

/** Waits until kwok has started all pods. */
function untilAllRun(api: Api): Promise<void> {
  const path = '/api/v1/pods?limit=1&fieldSelector=status.phase%3DPending'
  const doAllRun = async () => succeeded(await api.get(path)).body.items.length === 0
  // Each request makes the apiserver look at all pods.
  return untilHolds('all pods run', doAllRun, { patienceMs: PATIENCE_MS, pauseMs: 250 })
}

/** The result of a Job. */
export interface JobResult {
  /** The time until the Job controller has created all pods. */
  readonly seconds: number
  readonly unobserved: number
}

const PATIENCE_MS = 3_600_000

/** Runs an Indexed Job whose pods all run at the same time, and waits until it is complete. */
export async function runJob(api: Api, kind: Kind, count: number, say: Say): Promise<JobResult> {
  const namespace = `scale-job-${kind}`
  await createNamespace(api, namespace, kind === 'with')
  await until('the namespace has a service account', () => hasAccount(api, namespace))
  const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`
  const template = { spec: { ...SPEC, restartPolicy: 'Never' } }
  const spec = { completions: count, parallelism: count, completionMode: 'Indexed', template }
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'job' }, spec }
  const begin = performance.now()
  succeeded(await api.post(jobs, job))
  const pods = `/api/v1/namespaces/${namespace}/pods`
  await until(
    'the Job has all its pods',
    async () => (await countOf(api, pods)) >= count,
    PATIENCE_MS,
  )
  const seconds = (performance.now() - begin) / 1000
  say(`the Job ${kind} observers has ${count} pods; waiting until it is complete`)
  await until(
    'the Job is complete',
    async () => {
      const { body } = succeeded(await api.get(`${jobs}/job`))
      return body.status?.succeeded === count
    },
    PATIENCE_MS,
  )
  return { seconds, unobserved: await countUnobserved(api, pods) }
}

/** Counts the objects of a resource without listing them. */
export async function countOf(api: Api, path: string): Promise<number> {
  const { body } = succeeded(await api.get(`${path}?limit=1`))
  return body.items.length + (body.metadata.remainingItemCount ?? 0)
}

async function countUnobserved(api: Api, path: string): Promise<number> {
  let token = ''
  let count = 0
  do {
    const more = token === '' ? '' : `&continue=${encodeURIComponent(token)}`
    const { body } = succeeded(await api.get(`${path}?limit=500${more}`))
    count += body.items.filter((pod: Pod) => !isInjected(pod)).length
    token = body.metadata.continue ?? ''
  } while (token !== '')
  return count
}
