import t from 'tap'
import { asObjects, fieldsOrNone } from '../../../../src/core/kubernetes/json.ts'
import { describePods } from '../../../../src/pods/manifest/pod-owners.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'
import { findResources } from '../../../../src/pods/manifest/resources.ts'
import { findTemplates } from '../../../../src/pods/manifest/templates.ts'
import type { Json } from '../../../properties/arbitrary.ts'
import { ALLOWED, injected, textOf, undone, workload } from './build.ts'

const TEMPLATE = { spec: { containers: [{ name: 'a' }] } }

function madesOf(apiVersion: string, kind: string, spec: Json, metadata: Json = { name: 'x' }) {
  const text = JSON.stringify({ apiVersion, kind, metadata, spec })
  return readManifests('a.json', text)
    .flatMap(findResources)
    .flatMap(findTemplates)
    .map(describePods)
}

t.test('the owner of the pods is their controller if its name is known', async (t) => {
  const owner = (...of: Parameters<typeof madesOf>) => madesOf(...of)[0]?.owner
  t.strictSame(owner('batch/v1', 'Job', { template: TEMPLATE }), { kind: 'Job', name: 'x' })
  t.equal(owner('batch/v1', 'Job', { template: TEMPLATE }, { generateName: 'x-' }), undefined)
  t.equal(owner('apps/v1', 'Deployment', { template: TEMPLATE }), undefined)
  t.equal(owner('example.com/v1', 'Thing', { template: TEMPLATE }), undefined)
  const jobs = (replicas: number | undefined) => ({
    replicatedJobs: [{ name: 'w', replicas, template: { spec: { template: TEMPLATE } } }],
  })
  const jobSet = (replicas: number | undefined) =>
    owner('jobset.x-k8s.io/v1alpha2', 'JobSet', jobs(replicas))
  t.strictSame(jobSet(undefined), { kind: 'Job', name: 'x-w-0' })
  t.equal(jobSet(2), undefined)
})

t.test('by default, the Jobs of a JobSet are Indexed, with restartPolicy OnFailure', async (t) => {
  const made = (more: Json, spec: Json = {}) => {
    const template = { spec: { ...TEMPLATE.spec, ...spec } }
    const replicatedJobs = [{ name: 'w', template: { spec: { ...more, template } } }]
    return madesOf('jobset.x-k8s.io/v1alpha2', 'JobSet', { replicatedJobs })[0]
  }
  t.match(made({}), { isIndexed: true, restartPolicy: 'OnFailure' })
  t.match(made({ completionMode: 'NonIndexed' }, { restartPolicy: 'Never' }), {
    isIndexed: false,
    restartPolicy: 'Never',
  })
})

t.test('the restartPolicy beside the template of a Kubeflow job has priority', async (t) => {
  const policy = (beside: unknown, own: string, role = 'Worker') => {
    const template = { spec: { ...TEMPLATE.spec, restartPolicy: own } }
    const spec = { pytorchReplicaSpecs: { [role]: { restartPolicy: beside, template } } }
    return madesOf('kubeflow.org/v1', 'PyTorchJob', spec)[0]?.restartPolicy
  }
  t.equal(policy('OnFailure', 'Always'), 'OnFailure')
  t.equal(policy('ExitCode', 'Always'), 'Never')
  t.equal(policy(undefined, 'Always'), 'OnFailure')
  t.equal(policy(undefined, 'Always', 'Master'), 'OnFailure')
})

t.test(
  'the default restartPolicy of an MPIJob depends on its version and the replica',
  async (t) => {
    const policy = (version: string, role: string) => {
      const template = { spec: { ...TEMPLATE.spec, restartPolicy: 'Always' } }
      const spec = { mpiReplicaSpecs: { [role]: { template } } }
      return madesOf(`kubeflow.org/${version}`, 'MPIJob', spec)[0]?.restartPolicy
    }
    t.equal(policy('v2beta1', 'Launcher'), 'OnFailure')
    t.equal(policy('v2beta1', 'Worker'), 'Never')
    t.equal(policy('v1', 'Launcher'), 'Never')
  },
)

t.test('pods have the label with which their operator names the object', async (t) => {
  const leaders = { leaderWorkerTemplate: { workerTemplate: TEMPLATE } }
  const label = 'leaderworkerset.sigs.k8s.io/name'
  for (const [apiVersion, kind, spec, key] of [
    [
      'batch.volcano.sh/v1alpha1',
      'Job',
      { tasks: [{ template: TEMPLATE }] },
      'volcano.sh/job-name',
    ],
    ['leaderworkerset.x-k8s.io/v1', 'LeaderWorkerSet', leaders, label],
    ['disaggregatedset.x-k8s.io/v1', 'DisaggregatedSet', { roles: [{ spec: leaders }] }, label],
    [
      'workload.serving.volcano.sh/v1alpha1',
      'ModelServing',
      { template: { roles: [{ entryTemplate: TEMPLATE }] } },
      'modelserving.volcano.sh/name',
    ],
  ] as const)
    t.strictSame(madesOf(apiVersion, kind, spec)[0]?.labels, { [key]: 'x' }, kind)
})

const TRACE = { 'ridealong.dev/inject': 'mpi-trace' }

const TRAINER = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: mpi}
spec:
  mlPolicy: {mpi: {}}
  template:
    spec:
      replicatedJobs:
      - name: launcher
        template: {spec: {template: {spec: {containers: [{name: node, image: a}]}}}}
      - name: node
        template: {spec: {template: {spec: {containers: [{name: node, image: a}]}}}}
`

const MPI = workload('mpijob.yaml').replaceAll('perf-sysstat', 'mpi-trace')

/** The manifests, and whether the first template of each is a launcher that forwards variables. */
const ROWS: readonly (readonly [string, string, boolean])[] = [
  ['an MPIJob of the MPI Operator', MPI, true],
  ['an MPIJob of the Training Operator', MPI.replace('v2beta1', 'v1'), false],
  ['a runtime of Kubeflow Trainer', TRAINER, true],
]

t.test(
  'inject adds the variables of a launcher to its template, and undo removes them',
  async (t) => {
    for (const [name, text, isForwarding] of ROWS) {
      const documents = injected(text, TRACE, ALLOWED)
      const out = textOf(documents)
      const templates = readManifests('a.yaml', out).flatMap(findResources).flatMap(findTemplates)
      const forwarding = templates.map(({ fields }) => {
        const [container] = asObjects(fieldsOrNone(fields.spec).containers)
        return JSON.stringify(container?.env).includes('OMPI_MCA_orte_launch_agent')
      })
      t.strictSame(forwarding, [isForwarding, false], name)
      t.equal(undone(out), text, `${name}: the same bytes`)
    }
  },
)

t.test('a second inject of the same tool changes nothing, and another tool is left', async (t) => {
  const once = textOf(injected(MPI, TRACE, ALLOWED))
  t.equal(textOf(injected(once, TRACE, ALLOWED)), once)
  const both = { 'ridealong.dev/inject': 'mpi-trace,cpu-profile' }
  const text = MPI.replaceAll('ridealong.dev/inject: mpi-trace', 'a: b')
  const first = textOf(injected(text, TRACE, ALLOWED))
  const [launcher, worker] = injected(first, both, ALLOWED)[0]?.outcomes ?? []
  t.match(launcher?.decision, { outcome: 'left', reason: 'already-injected' })
  t.match(worker?.decision, { outcome: 'injected' })
})
