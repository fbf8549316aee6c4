import t from 'tap'
import { podOf, ride, type Texts } from '../build.ts'

const INDEX = 'batch.kubernetes.io/job-completion-index'
const BOTH = { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' }

const indexed = (index: number, annotations: Texts) =>
  podOf({ ...BOTH, ...annotations }, {}, { labels: { [INDEX]: String(index) } })

function mpi(annotations: Texts, role: string, index?: number) {
  const labels = {
    'training.kubeflow.org/job-role': role,
    ...(index !== undefined && { 'training.kubeflow.org/replica-index': String(index) }),
  }
  return podOf({ ...BOTH, ...annotations }, {}, { labels })
}

t.test('only selected pods get observers', async (t) => {
  const observed = (pods: string) =>
    [...Array(20).keys()].filter(
      (index) => ride(indexed(index, { 'ridealong.dev/pods': pods })).word === 'injected',
    )
  t.strictSame(observed('every:4'), [0, 4, 8, 12, 16])
  t.strictSame(observed('0-3,8'), [0, 1, 2, 3, 8])
  t.strictSame(observed('every:16,3'), [0, 3, 16])
  t.equal(observed('').length, 20)
  t.strictSame(observed('worker'), [])
})

t.test('a pod that is not selected is left without a warning', async (t) => {
  const annotations = {
    'ridealong.dev/pods': 'every:4, launcher',
    'ridealong.dev/on-error': 'deny',
  }
  const { word, allowed, warnings, status } = ride(indexed(3, annotations))
  t.equal(word, 'pod-not-selected')
  t.equal(allowed, true)
  t.strictSame(warnings, [])
  t.strictSame(status, {
    outcome: 'left',
    reason: 'pod-not-selected',
    message: 'annotation ridealong.dev/pods: every:4,launcher does not select pod 3',
  })
})

t.test('the message about an unknown index names the labels', async (t) => {
  const { message, status } = ride(podOf({ ...BOTH, 'ridealong.dev/pods': '0' }))
  t.equal(
    message,
    'annotation ridealong.dev/pods: the index of the pod is not known: it has none of ' +
      'batch.kubernetes.io/job-completion-index, apps.kubernetes.io/pod-index, ' +
      'jobset.sigs.k8s.io/replicatedjob-name, training.kubeflow.org/job-role, ' +
      'training.kubeflow.org/replica-type, leaderworkerset.sigs.k8s.io/name, ' +
      'volcano.sh/task-spec, ray.io/node-type, grove.io/podclique, ' +
      'nodeset.slinky.slurm.net/pod-index, elasticjob.dlrover/replica-type',
  )
  t.match(status, { reason: 'pod-index-unknown', message }, 'the status has room for the message')
})

t.test('roles select pods, and a launcher has no number', async (t) => {
  const wordOf = (pods: string, role: string, index?: number) =>
    ride(mpi({ 'ridealong.dev/pods': pods }, role, index)).word
  t.equal(wordOf('launcher,every:16', 'launcher'), 'injected')
  t.equal(wordOf('launcher,every:16', 'worker', 16), 'injected')
  t.equal(wordOf('launcher,every:16', 'worker', 17), 'pod-not-selected')
  t.equal(wordOf('worker', 'worker', 17), 'injected')
  t.equal(wordOf('worker-17', 'worker', 17), 'injected')
  t.equal(wordOf('worker-1', 'worker', 17), 'pod-not-selected')
  t.equal(wordOf('every:16', 'launcher'), 'pod-not-selected')
  t.equal(wordOf('launcher', 'worker'), 'pod-not-selected', 'the number is not needed')
  t.equal(wordOf('every:16', 'worker'), 'pod-index-unknown')
  t.match(
    ride(mpi({ 'ridealong.dev/pods': 'every:16' }, 'worker')).message,
    /worker is not known: the pod has no valid training\.kubeflow\.org\/replica-index$/,
  )
})

t.test('every:N selects one in N pods of a JobSet, whatever the shape of its Jobs', async (t) => {
  const count = (jobs: number, pods: number) => {
    const all = [...Array(jobs * pods).keys()].map((number) => {
      const labels = {
        'jobset.sigs.k8s.io/replicatedjob-name': 'workers',
        'jobset.sigs.k8s.io/job-index': String(Math.floor(number / pods)),
        [INDEX]: String(number % pods),
      }
      return ride(podOf({ ...BOTH, 'ridealong.dev/pods': 'every:8' }, {}, { labels })).word
    })
    return all.filter((word) => word === 'injected').length
  }
  for (const [jobs, pods] of [
    [1, 64],
    [64, 1],
    [8, 8],
    [4, 16],
  ] as const)
    t.equal(count(jobs, pods), 8, `${jobs} Jobs of ${pods} pods`)
})

t.test('the annotation of a metric narrows the pods of this metric', async (t) => {
  const annotations = { 'ridealong.dev/pods': '0-7', 'io-sysstat.ridealong.dev/pods': 'every:4' }
  const metricsOf = (index: number) => Object.keys(ride(indexed(index, annotations)).observers)
  t.strictSame(metricsOf(4), ['perf-sysstat', 'io-sysstat'])
  t.strictSame(metricsOf(5), ['perf-sysstat'])
  t.strictSame(metricsOf(8), [])
  const { status } = ride(indexed(5, annotations))
  t.match(status, { metrics: ['perf-sysstat'], notSelected: ['io-sysstat'] })
  t.equal(ride(indexed(4, annotations)).status?.notSelected, undefined)
})

t.test('a pod of unknown index gets the metrics that apply to all pods', async (t) => {
  const pod = podOf({ ...BOTH, 'io-sysstat.ridealong.dev/pods': '0' })
  const { word, observers, status } = ride(pod)
  t.equal(word, 'injected')
  t.strictSame(Object.keys(observers), ['perf-sysstat'])
  t.match(status, { notSelected: ['io-sysstat'] })
  const every = { 'perf-sysstat.ridealong.dev/pods': 'a', 'io-sysstat.ridealong.dev/pods': '1' }
  t.equal(ride(podOf({ ...BOTH, ...every })).word, 'pod-index-unknown')
  t.match(ride(indexed(0, every)), {
    word: 'pod-not-selected',
    message: 'annotation perf-sysstat.ridealong.dev/pods: a does not select pod 0',
  })
})

t.test('the annotations of the namespace are defaults, which the pod replaces', async (t) => {
  const place = { annotations: { 'ridealong.dev/pods': '0' } }
  t.equal(ride(indexed(1, {}), place).word, 'pod-not-selected')
  t.equal(ride(indexed(1, { 'ridealong.dev/pods': '1' }), place).word, 'injected')
  t.equal(ride(indexed(1, { 'ridealong.dev/pods': '' }), place).word, 'injected')
})

t.test('an invalid expression is an invalid option, for all pods', async (t) => {
  const problem = '"5-1" is not a pod index such as 3, a range such as 0-3'
  const { word, message } = ride(indexed(0, { 'ridealong.dev/pods': '0,5-1' }))
  t.equal(word, 'invalid-option')
  t.match(message, `annotation ridealong.dev/pods: ${problem}`)
  const { left, warnings } = ride(indexed(0, { 'io-sysstat.ridealong.dev/pods': '0,5-1' }))
  t.strictSame(left, { 'io-sysstat': 'invalid-option' })
  t.match(warnings[0], `annotation io-sysstat.ridealong.dev/pods: ${problem}`)
  t.equal(
    ride(indexed(0, { 'cpu-profile.ridealong.dev/pods': '5-1' })).word,
    'injected',
    'annotations of metrics that are not requested have no effect',
  )
})

t.test('a pod that has its observers keeps them, whatever its index', async (t) => {
  const { pod } = ride(indexed(3, {}))
  const annotations = { ...pod.metadata.annotations, 'ridealong.dev/pods': '0' }
  const again = { ...pod, metadata: { ...pod.metadata, annotations } }
  t.equal(ride(again).word, 'already-injected')
})
