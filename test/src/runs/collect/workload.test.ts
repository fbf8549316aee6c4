import t from 'tap'
import { joinNames, readWorkload } from '../../../../src/runs/collect/workload.ts'

/** Returns the label selector, or the owner and the kinds between it and its pods. */
function chosenBy(written: string): unknown {
  const chosen = readWorkload(written)
  if ('problem' in chosen) return chosen.problem
  if (chosen.by === 'labels') return chosen.selector
  if (chosen.by === 'name') return chosen
  const { group, kind, isExact } = chosen.owner
  return [group, kind, isExact, chosen.through]
}

t.test('workloads are named as in kubectl', async (t) => {
  t.equal(chosenBy('job/a'), 'batch.kubernetes.io/job-name=a')
  t.equal(chosenBy('Jobs.batch/a'), 'batch.kubernetes.io/job-name=a')
  t.equal(chosenBy('jobs.v1.batch/a'), 'batch.kubernetes.io/job-name=a')
  t.equal(chosenBy('MiniCluster/a'), 'job-name=a')
  t.equal(chosenBy('jobset/a'), 'jobset.sigs.k8s.io/jobset-name=a')
  t.equal(chosenBy('mpijobs/a'), 'training.kubeflow.org/job-name=a')
  t.equal(chosenBy('raycluster/a'), 'ray.io/cluster=a')
  t.equal(chosenBy('lws/a'), 'leaderworkerset.sigs.k8s.io/name=a')
  t.equal(chosenBy('sparkapplication/a'), 'sparkoperator.k8s.io/app-name=a')
  t.match(chosenBy('pod/a'), { by: 'name', name: 'a', words: 'pod/a' })
  t.strictSame(chosenBy('deploy/a'), ['apps', 'Deployment', true, ['apps/ReplicaSet']])
  t.strictSame(chosenBy('statefulsets/a'), ['apps', 'StatefulSet', true, []])
})

t.test('the Job of Volcano is vcjob, or job with the group of Volcano', async (t) => {
  for (const written of ['vcjob/a', 'vj/a', 'job.batch.volcano.sh/a', 'Jobs.batch.volcano.sh/a'])
    t.equal(chosenBy(written), 'volcano.sh/job-name=a', written)
})

t.test('any kind can be named with its group', async (t) => {
  const workflow = ['argoproj.io', 'workflow', false, undefined]
  t.strictSame(chosenBy('Workflow.argoproj.io/a'), workflow)
  t.strictSame(chosenBy('workflow.v1alpha1.argoproj.io/a'), workflow)
  t.strictSame(chosenBy('job.example.com/a'), ['example.com', 'job', false, undefined])
})

t.test('a name of another form is refused', async (t) => {
  const wrong = ['a', '/a', 'job/', 'job/a/b', 'job/A_b', 'job/a=b,c', 'workflow/a', '.x.io/a']
  for (const written of [...wrong, 'x..io/a', 'x.%2e/a'])
    t.match(readWorkload(written), { problem: String }, `"${written}" is refused`)
  t.match(chosenBy('workflow/a'), /^kind "workflow" needs its API group, such as workflow\.argo/)
})

t.test('the kind that was probably meant is named', async (t) => {
  t.match(chosenBy('MiniCluter/a'), '(did you mean minicluster/a?); kinds that need no group are')
  t.match(chosenBy('pytorch/a'), '(did you mean pytorchjob/a?)')
  t.notMatch(chosenBy('workflow/a'), 'did you mean')
})

t.test('a kind and the name after it are joined, but not two files', async (t) => {
  const isFile = (word: string) => ['job', 'after'].includes(word)
  const join = (...words: readonly string[]) => joinNames(words, isFile)
  t.strictSame(join('MiniCluster', 'a'), ['MiniCluster/a'])
  t.strictSame(join('pods', 'a', 'jobs.batch', 'b', 'run', 'c'), [
    'pods/a',
    'jobs.batch/b',
    'run/c',
  ])
  t.strictSame(join('job', 'after'), ['job', 'after'], 'both are files')
  t.strictSame(join('job', 'a', 'jobs', 'after'), ['job/a', 'jobs/after'], 'one is a file')
  t.strictSame(join('a', 'b', 'job/a', 'c', 'jobs'), ['a', 'b', 'job/a', 'c', 'jobs'])
})
