import t from 'tap'
import { alike } from '../../../../src/pods/explain/alike-pods.ts'
import { countPods } from '../../../../src/pods/explain/pods-of-template.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'
import { findResources } from '../../../../src/pods/manifest/resources.ts'
import { findTemplates } from '../../../../src/pods/manifest/templates.ts'
import { askingPod, CATALOG, type Json, ride } from '../../core/build.ts'

const INJECTED = ride(askingPod()).pod as unknown as { metadata: { annotations: Json } } & Json
const LEFT = JSON.stringify({ outcome: 'left', reason: 'quota', message: 'full' })

function indexed(completion: number | undefined, status?: string): Json {
  const index =
    completion === undefined ? {} : { 'batch.kubernetes.io/job-completion-index': `${completion}` }
  const { metadata } = INJECTED
  const statusOf = status === undefined ? {} : { 'ridealong.dev/status': status }
  return {
    ...INJECTED,
    metadata: {
      name: `pod-${completion}`,
      annotations: { ...metadata.annotations, ...index, ...statusOf },
    },
  }
}

t.test('pods with different outcomes are in different groups', async (t) => {
  const pods = [
    indexed(2),
    indexed(0),
    indexed(1),
    indexed(3, LEFT),
    indexed(5),
    indexed(10),
    { ...indexed(4, ''), spec: {} },
  ]
  const groups = alike(pods, () => CATALOG).map(({ which, word }) => `${which}: ${word}`)
  t.strictSame(groups, [
    'pods 0-2, 5, 10: injected with perf-sysstat, counters all',
    'pod 3: no observers (quota)',
    'pod 4: no status',
  ])
})

t.test('pods of roles are grouped by role', async (t) => {
  const pod = (labels: Json) => ({ ...INJECTED, metadata: { ...INJECTED.metadata, labels } })
  const mpi = (role: string, index: Json = {}) =>
    pod({ 'training.kubeflow.org/job-role': role, ...index })
  const worker = (index: number) =>
    mpi('worker', { 'training.kubeflow.org/replica-index': String(index) })
  const pods = [mpi('launcher'), worker(11), worker(0), worker(9), worker(10)]
  t.match(
    alike(pods, () => CATALOG),
    [{ which: 'pods launcher, worker-[0, 9-11]' }],
  )
  t.match(
    alike([worker(3)], () => CATALOG),
    [{ which: 'pod worker-3' }],
  )
})

t.test('if a pod of a group has no index, the group lists the names of its pods', async (t) => {
  t.strictSame(
    alike([indexed(undefined), indexed(1)], () => CATALOG).map(({ which }) => which),
    ['pod-undefined, pod-1'],
  )
})

t.test('a pod with a container that differs from the catalog has its own group', async (t) => {
  const { spec } = INJECTED as unknown as { spec: { initContainers: readonly Json[] } }
  const initContainers = spec.initContainers.map((one) => ({ ...one, image: 'evil:1' }))
  const forged = { ...indexed(1), spec: { ...spec, initContainers } }
  const groups = alike([indexed(0), forged, indexed(2)], () => CATALOG)
  t.match(
    groups.map(({ which, word }) => `${which}: ${word}`),
    [/^pods 0, 2: injected/, /^pod 1: not verified: container perf-sysstat has image "evil:1"/],
  )
})

const template = 'template: {spec: {containers: [{name: a}]}}'
const fourAtATime = `{parallelism: 4, ${template}}`
const workers = `{Worker: {replicas: 7, ${template}}}`
const twoPods = `template: {spec: {parallelism: 2, completions: 2, ${template}}}`
const jobs = `{name: w, replicas: 3, ${twoPods}}`
const kinds: Readonly<Record<string, number | undefined>> = {
  [`apiVersion: batch/v1\nkind: Job\nspec: {${template}}`]: 1,
  [`apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 8, ${template}}`]: 8,
  [`apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 8, completions: 3, ${template}}`]: 3,
  [`apiVersion: batch/v1\nkind: CronJob\nspec: {jobTemplate: {spec: ${fourAtATime}}}`]: 4,
  [`apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 5, ${template}}`]: 5,
  [`apiVersion: apps/v1\nkind: DaemonSet\nspec: {${template}}`]: undefined,
  [`apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nspec: {mpiReplicaSpecs: ${workers}}`]: 7,
  [`apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec: {replicatedJobs: [${jobs}]}`]: 6,
}

for (const [text, pods] of Object.entries(kinds)) {
  const [, kind] = text.split('\n')
  t.test(`the number of pods at a time is ${pods ?? 'unknown'} for ${kind}`, async (t) => {
    const [found] = readManifests('a.yaml', text).flatMap(findResources).flatMap(findTemplates)
    t.ok(found)
    t.equal(found && countPods(found), pods)
  })
}
