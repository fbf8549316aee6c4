import t from 'tap'
import { workloadFindings } from '../../../../src/pods/explain/workload-findings.ts'
import { answerIn, type Json, podOf, reviewOf, type Texts } from '../../core/build.ts'

/** Returns the findings, as texts, about a pod with one container. */
function findingsOf(container: Json, failurePolicy?: unknown, annotations: Texts = {}) {
  const spec = { containers: [{ name: 'app', image: 'a', ...container }] }
  return findingsAbout(podOf({ ...ASKING, ...annotations }, spec), failurePolicy)
}

const ASKING = { 'ridealong.dev/inject': 'perf-sysstat' }

function findingsAbout(pod: Json, failurePolicy?: unknown) {
  const { decision } = answerIn({}, pod)
  const found = workloadFindings({ review: reviewOf(pod), failurePolicy }, decision, undefined)
  return found.map(({ name, verdict, sentence }) => `${name} ${verdict}: ${sentence}`)
}

const preStop = (...command: string[]) => ({ lifecycle: { preStop: { exec: { command } } } })

t.test('uses of process 1 are one line', async (t) => {
  const found = findingsOf({ command: ['sh', '-c', 'kill 1'], ...preStop('cat', '/proc/1/stat') })
  t.strictSame(found, [
    'process 1 look: the preStop of container app uses process 1; the command of container app ' +
      'uses process 1; with an observer, process 1 is the pause process of the pod',
  ])
  t.strictSame(findingsOf({ command: ['sleep', '1'] }), [])
})

t.test('a podFailurePolicy that counts a killed observer is one line', async (t) => {
  const policy = (onExitCodes: Json) => ({ rules: [{ action: 'Ignore' }, { onExitCodes }] })
  const counting = [
    { operator: 'NotIn', values: [0, 3] },
    { operator: 'In', values: [137] },
  ]
  for (const rule of counting)
    t.match(findingsOf({}, policy(rule)), [/^podFailurePolicy look: rule 2 names no container/])
  const other = [
    { operator: 'NotIn', values: [137] },
    { operator: 'In', values: [1] },
    { operator: 'NotIn', values: [3], containerName: 'app' },
  ]
  for (const rule of other) t.strictSame(findingsOf({}, policy(rule)), [])
  t.strictSame(findingsOf({}, { rules: 7 }), [])
})

t.test('attempts that an observer in mode container does not see are one line', async (t) => {
  const container = { 'ridealong.dev/mode': 'container' }
  const rules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }]
  const inPlace = { restartPolicy: 'Never', restartPolicyRules: rules }
  const line = /^restarts look: container app may start again after a failure.*mode native/
  const about = (policy: string, app: Json, mode: Texts = container) =>
    findingsAbout(
      podOf(
        { ...ASKING, ...mode },
        { restartPolicy: policy, containers: [{ name: 'app', image: 'a', ...app }] },
      ),
    )
  t.match(about('OnFailure', {}), [line])
  t.match(about('Never', inPlace), [line])
  t.match(about('Always', { restartPolicy: 'OnFailure' }), [line])
  t.strictSame(about('Never', {}), [])
  t.strictSame(about('Always', {}), [])
  t.strictSame(about('OnFailure', { restartPolicy: 'Never' }), [])
  t.strictSame(about('Never', inPlace, {}), [], 'a native observer sees all attempts')
  const whole = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } }]
  t.strictSame(about('Never', { restartPolicy: 'Never', restartPolicyRules: whole }), [])
})

t.test('an owner that counts the restarts of observers is one line', async (t) => {
  const labelled = (name: string) => podOf(ASKING, {}, { labels: { [name]: 'vllm' } })
  const group = /^restarts look: LeaderWorkerSet creates the whole group of pods again.*None/
  t.match(findingsAbout(labelled('leaderworkerset.sigs.k8s.io/name')), [group])
  t.match(findingsAbout(labelled('modelserving.volcano.sh/name')), [/kthena.*recoveryPolicy: None/])
  t.strictSame(findingsAbout(labelled('batch.kubernetes.io/job-name')), [])
})

t.test('a pod that gets no observers has no such lines', async (t) => {
  t.strictSame(findingsOf(preStop('kill', '1'), undefined, { 'ridealong.dev/inject': 'x' }), [])
})
