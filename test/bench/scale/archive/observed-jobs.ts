import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Api } from '../../../cluster/api.ts'
import { until } from '../../../until.ts'
import { inParallel, succeeded } from '../patient-api.ts'
import { nodeName } from '../simulated-nodes.ts'
import type { SeenRuns } from './seen-runs.ts'

/** The label of all pods of the Jobs. */
export const LABEL = 'archive.bench/kind=observed'
const [LABEL_KEY = '', LABEL_VALUE = ''] = LABEL.split('=')

/** The namespaces of the Jobs. */
export const NAMESPACES = ['archive-0', 'archive-1', 'archive-2', 'archive-3'] as const

/** The nodes of all pods. */
export const NODES = 20

const RECORDED = fileURLToPath(new URL('../../../logs/well/lammps.vitals.log', import.meta.url))
const OBSERVER = 'vitals'

/** Returns the summary in a recorded log, which is also the termination message of the observer. */
function recordedSummary(): string {
  const log = readFileSync(RECORDED, 'utf8')
  const [, summary] = /^SUMMARY START\n(.*?)^SUMMARY END$/ms.exec(log) ?? []
  if (summary === undefined) throw new Error(`${RECORDED} has no summary`)
  return summary
}

/**
 * Returns a stage of kwok that ends the pods of the Jobs at once. Their observers end as with a
 * kubelet: with the summary as the termination message.
 */
export function observerStage(): string {
  const ended = [
    ...['exitCode: 0', 'reason: Completed', `message: ${JSON.stringify(recordedSummary())}`],
    ...['startedAt: {{ $root.status.startTime | Quote }}', 'finishedAt: {{ $now | Quote }}'],
  ]
  const statusTemplate = [
    '{{ $now := Now }}',
    '{{ $root := . }}',
    'containerStatuses:',
    '{{ range .spec.containers }}',
    ...containerLines(['exitCode: 0', 'reason: Completed', ...ended.slice(-2)]),
    '{{ end }}',
    'initContainerStatuses:',
    '{{ range .spec.initContainers }}',
    ...containerLines(ended),
    '{{ end }}',
    'phase: Succeeded',
  ]
  const exists = (key: string, operator: string) => ({ key, operator })
  return JSON.stringify({
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name: 'observed-pod-complete' },
    spec: {
      resourceRef: { apiGroup: 'v1', kind: 'Pod' },
      selector: {
        matchLabels: { [LABEL_KEY]: LABEL_VALUE },
        matchExpressions: [
          exists('.metadata.deletionTimestamp', 'DoesNotExist'),
          { key: '.status.phase', operator: 'In', values: ['Running'] },
        ],
      },
      next: { statusTemplate: statusTemplate.join('\n') },
    },
  })
}

function containerLines(ended: readonly string[]): readonly string[] {
  return [
    '- name: {{ .name | Quote }}',
    '  image: {{ .image | Quote }}',
    '  ready: false',
    '  restartCount: 0',
    '  state:',
    '    terminated:',
    ...ended.map((line) => `      ${line}`),
  ]
}

const STATUS = JSON.stringify({ outcome: 'injected', metrics: [OBSERVER], mode: 'native' })

/** A Job to create, whose pods have observers. */
export interface ObservedJob {
  readonly namespace: string
  readonly name: string
  readonly pods: number
}

/** The numbers of pods of the Jobs, which are repeated. */
const PODS = [1, 2, 4, 8, 1, 2, 1, 3]

/**
 * Returns the Jobs of a wave: most of 1 to 8 pods, and one of another size in their middle.
 *
 * @param large the number of pods of this Job
 */
export function listJobs(wave: string, count: number, large: number): readonly ObservedJob[] {
  const middle = Math.floor(count / 2)
  return Array.from({ length: count }, (_, index) => ({
    namespace: NAMESPACES[index % NAMESPACES.length] ?? NAMESPACES[0],
    name: `${wave}-${index}`,
    pods: index === middle ? large : (PODS[index % PODS.length] ?? 1),
  }))
}

/** The Jobs that run at the same time, and the pods of a Job that are created at the same time. */
const JOBS_AT_ONCE = 24
const PODS_AT_ONCE = 4

/**
 * Runs Jobs, each until its pods have ended. It is then deleted, and Kubernetes deletes its pods,
 * as with `ttlSecondsAfterFinished: 0`. The pods are created here and not by the Job controller,
 * which would need more of the machine than the archive and the nodes.
 */
export async function runJobs(
  api: Api,
  jobs: readonly ObservedJob[],
  seen: Pick<SeenRuns, 'hasEnded' | 'noteDeleted'>,
): Promise<void> {
  await inParallel(jobs.length, JOBS_AT_ONCE, async (index) => {
    const job = jobs[index]
    if (job === undefined) return
    const { namespace, name, pods } = job
    const path = `/apis/batch/v1/namespaces/${namespace}/jobs`
    const { body } = succeeded(await api.post(path, buildJob(job)))
    const { uid } = body.metadata
    const controller = { apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true }
    await inParallel(pods, PODS_AT_ONCE, async (completion) => {
      const pod = buildPod(job, completion, controller)
      succeeded(await api.post(`/api/v1/namespaces/${namespace}/pods`, pod))
    })
    await until(`the pods of ${name} have ended`, () => seen.hasEnded(name, pods), WAITING)
    succeeded(await api.delete(`${path}/${name}?propagationPolicy=Background`))
    seen.noteDeleted(name)
  })
}

const WAITING = { patienceMs: 3_600_000, pauseMs: 20 }

function buildJob({ name, pods }: ObservedJob): object {
  const containers = [{ name: 'app', image: 'app' }]
  const template = { spec: { restartPolicy: 'Never', containers } }
  const spec = { completions: pods, parallelism: pods, completionMode: 'Indexed', template }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: { managedBy: 'ridealong.dev/bench', ...spec },
  }
}

/** The pods are not scheduled, because the scheduler takes no part in what is measured. */
function buildPod({ name }: ObservedJob, completion: number, controller: object): object {
  const resources = {
    requests: { cpu: '2', memory: '128Mi' },
    limits: { cpu: '2', memory: '256Mi' },
  }
  const own = { 'batch.kubernetes.io/job-completion-index': `${completion}` }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-${completion}`,
      labels: { [LABEL_KEY]: LABEL_VALUE, ...own },
      annotations: { 'ridealong.dev/status': STATUS, ...own },
      ownerReferences: [controller],
    },
    spec: {
      ...{ restartPolicy: 'Never', terminationGracePeriodSeconds: 0 },
      nodeName: nodeName(completion % NODES),
      initContainers: [{ name: OBSERVER, image: OBSERVER, restartPolicy: 'Always' }],
      containers: [{ name: 'app', image: 'app', resources }],
    },
  }
}
