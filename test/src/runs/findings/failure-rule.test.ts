import t from 'tap'
import type { EndedContainer } from '../../../../src/runs/log/entry.ts'
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
    '2': endOf({ exitCode: 137, seconds: 62 }),
    '3': endOf({ exitCode: 139, seconds: 62 }),
    '4': endOf({ exitCode: 0, reason: 'Completed', seconds: 70 }),
  })
  t.match(failed, [{ severity: 'failure', pods: [{ pod: '3', things: ['container app'] }] }])
  t.equal(
    failed[0]?.sentence,
    'Pod 3 failed first: container app ended with exit code 139 (SIGSEGV), 62 s after the ' +
      'first sample. Then SIGTERM or SIGKILL ended 3 other containers.',
  )
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
  t.match(failed[0]?.sentence, /^Pod 1 failed first: .* ended 1 other container\. The same .* 4\.$/)
  t.match(failed[1]?.sentence, /^Pod 2 failed after another pod: .* exit code 2, 40 s after/)
})

t.test('memory that ran out is a failure that is named if it was the first', async (t) => {
  const out = { exitCode: 137, reason: 'OOMKilled' }
  t.strictSame(failuresIn({ '1': endOf({ ...out, seconds: 30 }) }), [], 'oom-killed names it')
  const [first, ...others] = failuresIn({
    '1': endOf({ ...out, seconds: 30 }),
    '2': endOf({ ...out, seconds: 50 }),
    '3': endOf({ exitCode: 143, seconds: 31 }),
  })
  t.match(first?.sentence, /^Pod 1 failed first: .* exit code 137 \(SIGKILL, OOMKilled\), 30 s/)
  t.match(first?.pods, [{ ended: { reason: 'OOMKilled', exitCode: 137 } }])
  t.strictSame(others, [])
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
  t.match(failed[0]?.sentence, /failed: container app ended with exit code 143 \(SIGTERM\)\. The/)
})

t.test('a container that was restarted has failed', async (t) => {
  const failed = failuresIn({ '1': endOf({ exitCode: 1, seconds: 10, restarted: true }) })
  t.match(
    failed[0]?.sentence,
    /^Pod 1 failed: .* 10 s after the first sample, and was restarted\.$/,
  )
})

t.test('without the status of the pods, the rule is not checked', async (t) => {
  const { notChecked } = findIn(ROWS, () => null)
  t.match(
    notChecked.find(({ rule }) => rule === 'container-failed'),
    { pods: null, reason: /^only the output of collect says/ },
  )
})
