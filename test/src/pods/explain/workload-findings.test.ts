import t from 'tap'
import { workloadFindings } from '../../../../src/pods/explain/workload-findings.ts'
import { answerIn, askingPod, type Json, reviewOf, type Texts } from '../../core/build.ts'

/** Returns the findings, as texts, about a pod with one container. */
function findingsOf(container: Json, failurePolicy?: unknown, annotations: Texts = {}) {
  const pod = askingPod({ containers: [{ name: 'app', image: 'a', ...container }] }, annotations)
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

t.test('a pod that gets no observers has no such lines', async (t) => {
  t.strictSame(findingsOf(preStop('kill', '1'), undefined, { 'ridealong.dev/inject': 'x' }), [])
})
