import t from 'tap'
import { type PodIndex, readPodIndex } from '../../../../src/core/rules/pod-index.ts'
import { recorded } from '../../../cases/read.ts'

type Labels = Readonly<Record<string, string>>

const indexOf = (labels: Labels, more: object = {}) => readPodIndex({ labels, ...more })
const ownedBy = (kind: string, name: string) => ({
  ownerReferences: [
    { kind: 'Node', name: 'a' },
    { kind, name, controller: true },
  ],
})

/** The index of each recorded pod: the label, the names, the number and the group. */
const RECORDED: Readonly<Record<string, readonly unknown[] | undefined>> = {
  'flux-minicluster-rank0': ['0', [], 0, 0],
  'flux-minicluster-rank1': ['1', [], 1, 0],
  'job-indexed': ['0', [], 0, 0],
  'jobset-leader': ['leader-0-0', ['leader', 'leader-0', 'leader-0-0'], 0, 0],
  'jobset-worker': ['workers-0-0', ['workers', 'workers-0', 'workers-0-0'], 0, 0],
  'metricset-launcher': ['l-0-0', ['l', 'l-0', 'l-0-0'], 0, 0],
  'metricset-worker': ['w-0-0', ['w', 'w-0', 'w-0-0'], 0, 0],
  'mpijob-launcher': ['launcher', ['launcher'], undefined, 0],
  'mpijob-worker': ['worker-0', ['worker', 'worker-0'], 0, 0],
  'statefulset-with-native-sidecar': ['0', [], 0, 0],
  cronjob: undefined,
  'daemonset-host-pid': undefined,
  'deployment-namespace-annotated': undefined,
  'pod-guaranteed': undefined,
}

const fieldsOf = (index: PodIndex | undefined) =>
  index && [index.label, index.names, index.number, index.group]

for (const [name, expected] of Object.entries(RECORDED)) {
  t.test(`the recorded pod ${name} has the index ${expected?.[0]}`, async (t) => {
    const { metadata } = JSON.parse(recorded(name)).request.object
    const index = readPodIndex(metadata)
    t.strictSame(fieldsOf(index), expected)
    if (index !== undefined) t.strictSame(index.missing, [])
  })
}

const JOBSET = {
  'jobset.sigs.k8s.io/replicatedjob-name': 'workers',
  'jobset.sigs.k8s.io/replicatedjob-replicas': '4',
  'jobset.sigs.k8s.io/job-index': '3',
  'jobset.sigs.k8s.io/job-global-index': '4',
}

t.test('in a JobSet, the index of the Job is the group', async (t) => {
  const index = indexOf({ ...JOBSET, 'batch.kubernetes.io/job-completion-index': '7' })
  t.strictSame(fieldsOf(index), ['workers-3-7', ['workers', 'workers-3', 'workers-3-7'], 7, 3])
  const { missing, number } = indexOf(JOBSET) as PodIndex
  t.equal(number, undefined)
  t.strictSame(missing, ['batch.kubernetes.io/job-completion-index'])
})

t.test('each role of a Kubeflow job numbers its pods', async (t) => {
  const worker = { 'training.kubeflow.org/replica-type': 'worker' }
  const index = { 'training.kubeflow.org/replica-index': '12' }
  t.strictSame(fieldsOf(indexOf({ ...worker, ...index })), [
    'worker-12',
    ['worker', 'worker-12'],
    12,
    0,
  ])
  const master = { ...worker, 'training.kubeflow.org/job-role': 'master', ...index }
  t.strictSame(fieldsOf(indexOf(master)), ['master-12', ['master', 'master-12', 'worker'], 12, 0])
  t.strictSame(indexOf(worker)?.missing, ['training.kubeflow.org/replica-index'])
  t.strictSame(fieldsOf(indexOf(index)), ['12', [], 12, 0])
})

const SET = {
  labels: { 'leaderworkerset.sigs.k8s.io/name': 'vllm' },
  annotations: { 'leaderworkerset.sigs.k8s.io/size': '4' },
}

t.test('a LeaderWorkerSet is numbered over all groups, also from the names', async (t) => {
  const at = (labels: Labels, more: object = {}) =>
    fieldsOf(readPodIndex({ ...SET, labels: { ...SET.labels, ...labels }, ...more }))
  const [group, index] = ['group-index', 'worker-index'].map(
    (key) => `leaderworkerset.sigs.k8s.io/${key}`,
  ) as [string, string]
  t.strictSame(at({ [group]: '2', [index]: '0' }), ['8', ['leader'], 8, 0])
  t.strictSame(at({ [group]: '2', [index]: '3' }), ['11', ['worker'], 11, 0])
  const leader = { name: 'vllm-2', ...ownedBy('StatefulSet', 'vllm') }
  t.strictSame(at({ [index]: '0', 'apps.kubernetes.io/pod-index': '2' }, leader), [
    '8',
    ['leader'],
    8,
    0,
  ])
  const worker = { name: 'vllm-2-3', ...ownedBy('StatefulSet', 'vllm-2') }
  t.strictSame(at({ [group]: '2' }, worker), ['11', ['worker'], 11, 0])
  const unknown = readPodIndex({ labels: { ...SET.labels, [group]: '2', [index]: '3' } })
  t.match(unknown, { label: 'worker', names: ['worker'], number: undefined })
  t.ok(unknown?.missing.includes('leaderworkerset.sigs.k8s.io/size'))
  t.equal(at({ [group]: '2', [index]: '4' })?.[2], undefined, 'the index is less than the size')
})

t.test('each task of a Volcano Job numbers its pods, in older versions by name', async (t) => {
  const labels = { 'volcano.sh/job-name': 'lm', 'volcano.sh/task-spec': 'mpiworker' }
  const expected = ['mpiworker-5', ['mpiworker', 'mpiworker-5'], 5, 0]
  t.strictSame(fieldsOf(indexOf({ ...labels, 'volcano.sh/task-index': '5' })), expected)
  t.strictSame(fieldsOf(indexOf(labels, { name: 'lm-mpiworker-5' })), expected)
  t.strictSame(indexOf(labels, { name: 'lm-mpimaster-5' })?.missing, ['volcano.sh/task-index'])
  const old = { 'volcano.sh/task-spec': 'mpiworker', 'volcano.sh/task-index': '5' }
  t.strictSame(fieldsOf(readPodIndex({ annotations: old })), expected)
})

t.test('the head of a RayCluster has no number, and workers may have one', async (t) => {
  const head = { 'ray.io/node-type': 'head', 'ray.io/group': 'headgroup' }
  t.strictSame(fieldsOf(indexOf(head)), ['head', ['head'], undefined, 0])
  t.strictSame(indexOf(head)?.missing, [])
  const worker = { 'ray.io/node-type': 'worker', 'ray.io/group': 'tpu' }
  t.match(indexOf(worker), { label: 'tpu', names: ['worker', 'tpu'], number: undefined })
  t.strictSame(indexOf(worker)?.missing, ['ray.io/worker-group-replica-index'])
  const replica = { ...worker, 'ray.io/worker-group-replica-index': '2' }
  t.strictSame(fieldsOf(indexOf(replica)), ['tpu-2', ['worker', 'tpu', 'tpu-2'], 2, 0])
  const host = { ...replica, 'ray.io/replica-host-index': '3' }
  t.strictSame(fieldsOf(indexOf(host)), ['tpu-2-3', ['worker', 'tpu', 'tpu-2', 'tpu-2-3'], 3, 2])
})

const CLIQUE = {
  'grove.io/podclique': 'disagg-0-decode',
  'grove.io/podclique-pod-index': '2',
  'app.kubernetes.io/managed-by': 'grove-operator',
}

t.test('each clique of a PodCliqueSet numbers its pods', async (t) => {
  const role = 'disagg-0-decode'
  t.strictSame(fieldsOf(indexOf(CLIQUE)), [`${role}-2`, [role, `${role}-2`], 2, 0])
  const inSet = {
    'app.kubernetes.io/part-of': 'disagg',
    'grove.io/podcliqueset-replica-index': '0',
  }
  const names = ['decode', 'decode-0', 'decode-0-2']
  t.strictSame(fieldsOf(indexOf({ ...CLIQUE, ...inSet })), ['decode-0-2', names, 2, 0])
  const inGroup = {
    'grove.io/podclique': 'disagg-0-workers-1-decode',
    'grove.io/podcliquescalinggroup': 'disagg-0-workers',
    'grove.io/podcliquescalinggroup-replica-index': '1',
  }
  t.equal(indexOf({ ...CLIQUE, ...inSet, ...inGroup })?.label, 'decode-0-1-2')
  const { missing } = indexOf({ 'grove.io/podclique': 'a' }) as PodIndex
  t.strictSame(missing, ['grove.io/podclique-pod-index'])
})

t.test('pods of a NodeSet of Slinky and of an ElasticJob of DLRover are numbered', async (t) => {
  const slinky = indexOf({ 'nodeset.slinky.slurm.net/pod-index': '007' })
  t.strictSame(fieldsOf(slinky), ['7', [], 7, 0])
  const elastic = { 'elasticjob.dlrover/replica-type': 'worker' }
  const elasticPod = indexOf({
    ...elastic,
    'elasticjob.dlrover/replica-index': '5',
    'elasticjob.dlrover/rank-index': '3',
  })
  t.strictSame(fieldsOf(elasticPod), ['worker-3', ['worker', 'worker-3'], 3, 0])
  t.strictSame(indexOf(elastic)?.missing, ['elasticjob.dlrover/rank-index'])
})

t.test('the index in a StatefulSet is the ordinal in the label or the name', async (t) => {
  const owned = ownedBy('StatefulSet', 'db')
  t.equal(indexOf({ 'apps.kubernetes.io/pod-index': '4' }, owned)?.number, 4)
  t.equal(indexOf({}, { name: 'db-12', ...owned })?.number, 12)
  t.equal(indexOf({}, { name: 'db-x', ...owned }), undefined)
  t.equal(indexOf({}, { generateName: 'db-', ...owned }), undefined)
  t.equal(indexOf({}, { name: 'db-12', ...ownedBy('ReplicaSet', 'db') }), undefined)
})

t.test('labels of any other form give no index', async (t) => {
  const key = 'batch.kubernetes.io/job-completion-index'
  for (const value of ['', 'x', '-1', '1.5', '1234567890', ' 1', '1\n', 1, null, ['1'], {}])
    t.equal(readPodIndex({ labels: { [key]: value } }), undefined)
  for (const labels of [null, [], 'x', 1]) t.equal(readPodIndex({ labels }), undefined)
  const role = { 'ray.io/node-type': '\u001b[31m'.repeat(20) }
  t.equal(indexOf(role), undefined, 'a text that is no label value is not a role')
  t.equal(indexOf({ 'ray.io/node-type': 'x'.repeat(64) }), undefined)
})
