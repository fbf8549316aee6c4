import t from 'tap'
import { describePods } from '../../../../src/pods/manifest/pod-owners.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'
import { findResources } from '../../../../src/pods/manifest/resources.ts'
import { findTemplates } from '../../../../src/pods/manifest/templates.ts'
import type { Json } from '../../../properties/arbitrary.ts'

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

t.test('the pods of a Volcano Job have the label of Volcano', async (t) => {
  const made = madesOf('batch.volcano.sh/v1alpha1', 'Job', { tasks: [{ template: TEMPLATE }] })
  t.strictSame(made[0]?.labels, { 'volcano.sh/job-name': 'x' })
})
