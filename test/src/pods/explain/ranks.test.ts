import t from 'tap'
import { countPods } from '../../../../src/pods/explain/pods-of-template.ts'
import { alike } from '../../../../src/pods/explain/ranks.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'
import { findResources } from '../../../../src/pods/manifest/resources.ts'
import { findTemplates } from '../../../../src/pods/manifest/templates.ts'
import { askingPod, CATALOG, type Json, ride } from '../../core/build.ts'

const INJECTED = ride(askingPod()).pod as unknown as { metadata: { annotations: Json } } & Json
const LEFT = JSON.stringify({ outcome: 'left', reason: 'quota', message: 'full' })

function ranked(rank: number | undefined, status?: string): Json {
  const index = rank === undefined ? {} : { 'batch.kubernetes.io/job-completion-index': `${rank}` }
  const { metadata } = INJECTED
  const statusOf = status === undefined ? {} : { 'ridealong.dev/status': status }
  return {
    ...INJECTED,
    metadata: {
      name: `pod-${rank}`,
      annotations: { ...metadata.annotations, ...index, ...statusOf },
    },
  }
}

t.test('ranks with different outcomes are in different groups', async (t) => {
  const pods = [
    ranked(2),
    ranked(0),
    ranked(1),
    ranked(3, LEFT),
    ranked(5),
    ranked(10),
    { ...ranked(4, ''), spec: {} },
  ]
  const groups = alike(pods, () => CATALOG).map(({ which, word }) => `${which}: ${word}`)
  t.strictSame(groups, [
    'ranks 0-2, 5, 10: injected with perf-sysstat, counters all',
    'rank 3: no observers (quota)',
    'rank 4: no status',
  ])
})

t.test('ranks of roles are grouped by role', async (t) => {
  const pod = (labels: Json) => ({ ...INJECTED, metadata: { ...INJECTED.metadata, labels } })
  const mpi = (role: string, index: Json = {}) =>
    pod({ 'training.kubeflow.org/job-role': role, ...index })
  const worker = (index: number) =>
    mpi('worker', { 'training.kubeflow.org/replica-index': String(index) })
  const pods = [mpi('launcher'), worker(11), worker(0), worker(9), worker(10)]
  t.match(
    alike(pods, () => CATALOG),
    [{ which: 'ranks launcher, worker-[0, 9-11]' }],
  )
  t.match(
    alike([worker(3)], () => CATALOG),
    [{ which: 'rank worker-3' }],
  )
})

t.test('if a pod of a group has no rank, the group lists the names of its pods', async (t) => {
  t.strictSame(
    alike([ranked(undefined), ranked(1)], () => CATALOG).map(({ which }) => which),
    ['pod-undefined, pod-1'],
  )
})

t.test('a rank with a container that differs from the catalog has its own group', async (t) => {
  const { spec } = INJECTED as unknown as { spec: { initContainers: readonly Json[] } }
  const initContainers = spec.initContainers.map((one) => ({ ...one, image: 'evil:1' }))
  const forged = { ...ranked(1), spec: { ...spec, initContainers } }
  const groups = alike([ranked(0), forged, ranked(2)], () => CATALOG)
  t.match(
    groups.map(({ which, word }) => `${which}: ${word}`),
    [/^ranks 0, 2: injected/, /^rank 1: not verified: container perf-sysstat has image "evil:1"/],
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
