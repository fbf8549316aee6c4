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
const liveness = (...command: string[]) => ({ livenessProbe: { exec: { command } } })

t.test('a probe, hook or program that needs process 1 is one line', async (t) => {
  const rows: [Json, string][] = [
    [preStop('/bin/sh', '-c', 'sleep 5; kill -QUIT 1'), 'the preStop of container app'],
    [preStop('kill', '-s', 'TERM', '1'), 'the preStop of container app'],
    [preStop('sh', '-c', 'kill 1 && sleep 3'), 'the preStop of container app'],
    [
      liveness('sh', '-c', 'grep -q solverd </proc/1/cmdline'),
      'the livenessProbe of container app',
    ],
    [liveness('test', '-d', '/proc/1'), 'the livenessProbe of container app'],
    [{ command: ['/init'] }, '/init of container app must be process 1'],
    [{ command: ['/sbin/init', '--log'] }, '/sbin/init of container app must be process 1'],
  ]
  for (const [container, part] of rows) {
    const found = findingsOf(container)
    t.equal(found.length, 1, part)
    t.match(found[0], /^process 1 look: .*process 1 is the pause process/)
    t.ok(found[0]?.includes(part), part)
  }
  const both = findingsOf({ ...preStop('kill', '1'), ...liveness('cat', '/proc/1/stat') })
  t.equal(both.length, 1, 'several uses are one line')
})

t.test('other commands are not mentioned', async (t) => {
  const commands = ['kill -1 1234', 'kill 10', 'kill -9 12', 'sleep 1', 'cat /proc/12/stat', 'ls']
  for (const command of commands)
    t.strictSame(findingsOf(preStop('sh', '-c', command)), [], command)
  t.strictSame(findingsOf({ livenessProbe: { exec: { command: 'kill 1' } }, lifecycle: 7 }), [])
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
