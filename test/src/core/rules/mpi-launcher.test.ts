import t from 'tap'
import { isMpiLauncher } from '../../../../src/core/rules/mpi-launcher.ts'
import { recorded } from '../../../cases/read.ts'

const KUBEFLOW = 'training.kubeflow.org'
const JOB = 'jobset.sigs.k8s.io/replicatedjob-name'

t.test('the labels of an operator show the pod whose mpirun starts ranks over ssh', async (t) => {
  const rows: [string, unknown, boolean][] = [
    ['a launcher of Kubeflow Trainer', { [JOB]: 'launcher' }, true],
    ['a node of Kubeflow Trainer', { [JOB]: 'node' }, false],
    [
      'a launcher of the Training Operator',
      { [`${KUBEFLOW}/operator-name`]: 'mpijob-controller', [`${KUBEFLOW}/job-role`]: 'launcher' },
      false,
    ],
    ['only the role', { [`${KUBEFLOW}/job-role`]: 'launcher' }, false],
    ['no labels', undefined, false],
    ['wrong labels', ['launcher'], false],
    ['the label of all objects', { toString: 'launcher' }, false],
  ]
  for (const [name, labels, isLauncher] of rows)
    t.equal(isMpiLauncher({ labels }), isLauncher, name)
  t.notOk(isMpiLauncher({ annotations: { [JOB]: 'launcher' } }), 'anyone can write annotations')
})

t.test('the launcher of a recorded MPIJob is known, and no other recorded pod', async (t) => {
  const rows: readonly (readonly [string, boolean])[] = [
    ['mpijob-launcher', true],
    ['mpijob-worker', false],
    ['metricset-launcher', false],
    ['jobset-leader', false],
    ['pod-guaranteed', false],
  ]
  for (const [name, isLauncher] of rows) {
    const { metadata } = JSON.parse(recorded(name)).request.object
    t.equal(isMpiLauncher(metadata), isLauncher, name)
  }
})
