import type { Api } from '../api.ts'

/** An observed pod without a node: its status is written by the test, in place of a kubelet. */
export interface ObservedPod {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export interface PodChanges {
  /** The controller of the pod. */
  readonly owner?: object
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

const STATUS = JSON.stringify({ outcome: 'injected', metrics: ['vitals'], mode: 'native' })

/** Creates a pod as the webhook leaves it, with the observer `vitals`. */
export async function createObservedPod(
  api: Api,
  namespace: string,
  name: string,
  { owner, labels, annotations }: PodChanges = {},
): Promise<ObservedPod> {
  const resources = {
    requests: { cpu: '2', memory: '128Mi' },
    limits: { cpu: '2', memory: '256Mi' },
  }
  const { status, body } = await api.post(`/api/v1/namespaces/${namespace}/pods`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels,
      annotations: { 'ridealong.dev/status': STATUS, ...annotations },
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      initContainers: [{ name: 'vitals', image: 'vitals', restartPolicy: 'Always' }],
      containers: [{ name: 'app', image: 'app', resources }],
    },
  })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return { namespace, name, uid: body.metadata.uid }
}

/** The start of the containers in all tests. */
const START = Date.UTC(2026, 0, 1)

function timeAfter(seconds: number): string {
  return `${new Date(START + seconds * 1000).toISOString().slice(0, 19)}Z`
}

/** Lets the containers of a pod run. */
export async function startPod(api: Api, pod: ObservedPod): Promise<void> {
  const state = { running: { startedAt: timeAfter(0) } }
  await writeStatus(api, pod, { phase: 'Running', startTime: timeAfter(0) }, state, state)
}

export interface PodEnd {
  /** Seconds. */
  readonly seconds: number
  readonly exitCode?: number
  readonly reason?: string
  /** The termination message of the observer. */
  readonly message?: string
}

/** Ends the containers of a pod. */
export async function endPod(api: Api, pod: ObservedPod, end: PodEnd): Promise<void> {
  const { seconds, exitCode = 0, reason = 'Completed', message = summary(pod, seconds) } = end
  const times = { startedAt: timeAfter(0), finishedAt: timeAfter(seconds) }
  const phase = exitCode === 0 ? 'Succeeded' : 'Failed'
  await writeStatus(
    api,
    pod,
    { phase, startTime: timeAfter(0) },
    { terminated: { exitCode, reason, ...times } },
    { terminated: { exitCode: 0, reason: 'Completed', message, ...times } },
  )
}

/** A summary: three quarters of two processors, and a peak of 96 MiB. */
function summary({ name }: ObservedPod, seconds: number): string {
  const use = {
    ...{ container: 'app', seconds, final: true, cpu_usage: 1.5 * seconds, cpu_limit: 2 },
    ...{ nr_periods: 100, nr_throttled: 0, throttled: 0, io_full: 0, run_delay: 0.5 },
    ...{ memory_peak: 96 * 2 ** 20, memory_limit: 256 * 2 ** 20, oom_kill: 0 },
  }
  return `${JSON.stringify({ metric: 'vitals', pod: name, processes: 2, containers: [use] })}\n`
}

async function writeStatus(
  api: Api,
  { namespace, name }: ObservedPod,
  status: object,
  app: object,
  observer: object,
): Promise<void> {
  const of = (container: string, state: object) => [
    { name: container, ready: false, restartCount: 0, image: container, imageID: '', state },
  ]
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`
  const { status: code, body } = await api.merge(path, {
    status: {
      ...status,
      containerStatuses: of('app', app),
      initContainerStatuses: of('vitals', observer),
    },
  })
  if (code !== 200) throw new Error(JSON.stringify(body))
}

/**
 * Creates a Job that the Job controller does not manage (`spec.managedBy`), and returns a reference
 * to it.
 */
export async function createUnmanagedJob(
  api: Api,
  namespace: string,
  name: string,
  spec: object = {},
): Promise<object> {
  const { status, body } = await api.post(`/apis/batch/v1/namespaces/${namespace}/jobs`, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      managedBy: 'ridealong.dev/test',
      template: {
        spec: { restartPolicy: 'Never', containers: [{ name: 'app', image: 'app' }] },
      },
      ...spec,
    },
  })
  if (status !== 201) throw new Error(JSON.stringify(body))
  const { uid } = body.metadata
  return { apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true }
}
