import t from 'tap'
import type { EndedContainer } from '../../../../src/runs/log/entry.ts'
import { factText } from '../../../../src/runs/rules/sentence.ts'
import { endOf, findIn, podRows } from './rows.ts'

const PODS = ['0', '1', '2', '3', '4']
const ROWS = PODS.flatMap((pod) => podRows(pod, {}, { only: ['process'] }))

/** Returns the findings of a run whose containers ended so, by pod. */
function failuresIn(ended: Readonly<Record<string, EndedContainer>>) {
  const { findings } = findIn(ROWS, (pod) => [ended[pod] ?? []].flat())
  return findings.filter(({ rule }) => rule === 'container-failed')
}

t.test('the pod that failed first is named, and those stopped after it are counted', async (t) => {
  const failed = failuresIn({
    '0': endOf({ exitCode: 143, seconds: 64 }),
    '1': endOf({ exitCode: 137, seconds: 95, deleted: true }),
    '2': endOf({ exitCode: 137, seconds: 63 }),
    '3': endOf({ exitCode: 139, seconds: 62 }),
    '4': endOf({ exitCode: 0, reason: 'Completed', seconds: 70 }),
  })
  t.match(failed, [{ severity: 'failure', pods: [{ pod: '3', things: ['container app'] }] }])
  t.equal(
    failed[0]?.sentence,
    'Pod 3 failed first: container app ended with exit code 139 (SIGSEGV), about 63 s after the ' +
      'first sample. Then SIGTERM or SIGKILL ended 3 other containers.',
  )
})

t.test('pods that failed in the same second are named together, without an order', async (t) => {
  const [failed, ...others] = failuresIn({
    '0': endOf({ exitCode: 143, seconds: 64 }),
    '1': endOf({ exitCode: 137, seconds: 62 }),
    '2': endOf({ exitCode: 137, seconds: 62, deleted: true }),
    '3': endOf({ exitCode: 7, seconds: 62 }),
    '4': endOf({ exitCode: 137, seconds: 62 }),
  })
  t.equal(
    failed?.sentence,
    'Pods 1, 4 failed: container app ended with exit code 137 (SIGKILL), about 63 s after the ' +
      'first sample. Pod 3 failed in the same second: container app ended with exit code 7. ' +
      'Then SIGTERM or SIGKILL ended 1 other container.',
  )
  t.match(failed?.advice, /that each of these containers printed .*: which pod failed first is not/)
  t.strictSame(others, [])
})

t.test('a sentence names three ends of containers, and counts other pods', async (t) => {
  const ended = PODS.map((pod) => [pod, endOf({ exitCode: 10 + Number(pod), seconds: 62 })])
  const [failed] = failuresIn(Object.fromEntries(ended))
  t.match(
    failed?.sentence,
    / exit code 14, .* exit code 13\. .* exit code 12\. 2 more pods failed\.$/,
  )
})

t.test('the time of an end is known to a second, whose end is the number', async (t) => {
  const [failed] = failuresIn({ '1': endOf({ exitCode: 1, seconds: 30 }) })
  const fact = failed?.pods[0]?.facts.find(({ unit }) => unit === 's')
  t.equal(fact?.value, 31)
  t.equal(factText(fact ?? { value: 0, unit: 's' }), 'about 31 s', 'the middle of the second')
})

t.test('pods that failed by themselves after the first one have a finding', async (t) => {
  const failed = failuresIn({
    '1': endOf({ exitCode: 1, seconds: 30 }),
    '2': endOf({ exitCode: 2, seconds: 40 }),
    '3': endOf({ exitCode: 137, seconds: 41 }),
    '4': endOf({ exitCode: 1, seconds: 30 }),
  })
  t.strictSame(
    failed.map(({ pods }) => pods.map(({ pod }) => pod)),
    [['1', '4'], ['2']],
  )
  t.match(failed[0]?.sentence, /^Pods 1, 4 failed: .* ended 1 other container\.$/)
  t.match(failed[1]?.sentence, /^Pod 2 failed after another pod: .* exit code 2, about 41 s after/)
})

t.test('memory that ran out is a failure that is named if it was the first', async (t) => {
  const out = { exitCode: 137, reason: 'OOMKilled' }
  t.strictSame(failuresIn({ '1': endOf({ ...out, seconds: 30 }) }), [], 'oom-killed names it')
  const [first, ...others] = failuresIn({
    '1': endOf({ ...out, seconds: 30 }),
    '2': endOf({ ...out, seconds: 50 }),
    '3': endOf({ exitCode: 143, seconds: 31 }),
  })
  t.match(
    first?.sentence,
    /^Pod 1 failed first: .* exit code 137 \(SIGKILL, OOMKilled\), about 31 s/,
  )
  t.match(first?.pods, [{ ended: { reason: 'OOMKilled', exitCode: 137 } }])
  t.strictSame(others, [])
})

t.test('an exit code that the kubelet has replaced is not named', async (t) => {
  const [found] = failuresIn({ '1': endOf({ exitCode: 137, reason: 'RestartingAllContainers' }) })
  t.match(
    found?.sentence,
    /ended with an exit code that the kubelet has replaced \(RestartingAllContainers\)/,
  )
  const facts = found?.pods.flatMap((pod) => pod.facts).map(({ name }) => name)
  t.notOk(facts?.includes('exit code') || facts?.includes('signal'), String(facts))
})

t.test('a pod that is deleted or has completed did not fail', async (t) => {
  const deleted = { seconds: 30, deleted: true }
  t.strictSame(failuresIn({ '1': endOf({ exitCode: 143, ...deleted }) }), [])
  t.strictSame(failuresIn({ '1': endOf({ exitCode: 0, reason: 'Completed' }) }), [])
  t.equal(failuresIn({ '1': endOf({ exitCode: 3, ...deleted }) }).length, 1)
  t.equal(failuresIn({ '1': endOf({ exitCode: 143, seconds: 30 }) }).length, 1, 'not deleted')
})

t.test('without times, no pod is the first', async (t) => {
  const failed = failuresIn({ '1': endOf({ exitCode: 1 }), '2': endOf({ exitCode: 143 }) })
  t.equal(failed.length, 1)
  t.match(failed[0]?.sentence, /exit code 143 \(SIGTERM\)\. Pod 1 failed: .* exit code 1\.$/)
})

t.test('a container that was restarted has failed', async (t) => {
  const failed = failuresIn({ '1': endOf({ exitCode: 1, seconds: 10, restarted: true }) })
  t.match(
    failed[0]?.sentence,
    /^Pod 1 failed: .* about 11 s after the first sample, and was restarted\.$/,
  )
})

t.test('without the status of the pods, the rule is not checked', async (t) => {
  const { notChecked } = findIn(ROWS, () => null)
  t.match(
    notChecked.find(({ rule }) => rule === 'container-failed'),
    { pods: null, reason: /^only the output of collect says/ },
  )
})
