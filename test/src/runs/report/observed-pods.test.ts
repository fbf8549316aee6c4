import t from 'tap'
import type { Entry } from '../../../../src/runs/log/entry.ts'
import { addEntry, newRun } from '../../../../src/runs/report/gather.ts'
import {
  listObservedPods,
  podNotices,
  unseenPods,
} from '../../../../src/runs/report/observed-pods.ts'

/** Returns the run with these logs, each of a namespace. */
function runOf(logs: readonly (readonly [string, object | null])[]) {
  const run = newRun()
  for (const [index, [namespace, observedPods]] of logs.entries()) {
    const place = { source: `log-${index}`, metric: 'perf-sysstat', namespace, pod: `${index}` }
    addEntry(run, { kind: 'log', ...place, observedPods, summary: [] } as unknown as Entry)
  }
  return run
}

const pods = (workload: string, observed: number, total: number) => ({
  workload,
  total,
  observed,
  metrics: { 'perf-sysstat': observed },
})

t.test('each workload has the count of the log with the most pods', async (t) => {
  const run = runOf([
    ['hpc', pods('job/a', 4, 16)],
    ['hpc', pods('job/a', 5, 20)],
    ['hpc', pods('job/a', 5, 18)],
    ['hpc', pods('job/b', 1, 2)],
    ['other', pods('job/a', 1, 3)],
    ['hpc', null],
  ])
  t.strictSame(listObservedPods(run), [
    pods('job/a', 5, 20),
    pods('job/b', 1, 2),
    pods('job/a', 1, 3),
  ])
  t.match(podNotices(run), [/^job\/a: 5 of 20 pods observed \(/, /^job\/b: 1 of 2 /, /1 of 3 /])
})

t.test('if all pods are observed, there is no notice', async (t) => {
  t.strictSame(podNotices(runOf([['hpc', null]])), [])
})

/** A log of a pod, whose workload has an annotation that chooses pods if `counted` is not null. */
interface PodLog {
  readonly pod: string
  readonly counted: object | null
  readonly metric?: string
  readonly index?: string
  readonly owner?: string
  /** Whether the log lacks its end. */
  readonly isCut?: boolean
}

/** Returns what the report says about the pods that it lacks. */
function unseenOf(logs: readonly PodLog[]) {
  const run = newRun()
  for (const { pod, counted, metric = 'vitals', index = null, owner, isCut } of logs) {
    const place = { source: `${pod}/${metric}`, metric, namespace: 'hpc', pod, pod_index: index }
    const row = { kind: 'pod', section: 'tcp', ...place, time: null, timepoint: 0, seconds: 0 }
    const metadata = owner === undefined ? {} : { owner }
    const end = { kind: 'log', ...place, metadata, observedPods: counted, summary: [] }
    addEntry(run, (isCut === true ? row : end) as unknown as Entry)
  }
  return unseenPods(run).map(({ what }) => what)
}

t.test('the pods that are missing are counted for each workload', async (t) => {
  const [counted, other] = [pods('job/a', 1, 4), pods('job/b', 1, 2)]
  const one = { pod: 'a-0', counted, index: '0', owner: 'Job/a' }
  const all = ['b-0', 'b-1', 'b-2', 'b-3'].map((pod) => ({ pod, counted: null }))
  t.strictSame(unseenOf([one]), ['3 of 4 pods'])
  t.strictSame(unseenOf([one, ...all]), ['3 of 4 pods'], 'pods of another workload')
  t.strictSame(unseenOf([one, { pod: 'b-0', counted: other }]), ['4 of 6 pods'])
  const retry = { ...one, pod: 'a-0-again' }
  t.strictSame(unseenOf([one, retry]), ['3 of 4 pods'], 'collect counts a retry once')
  const network = { pod: 'a-0', counted, index: '0', metric: 'network' }
  t.strictSame(unseenOf([network, one]), ['3 of 4 pods'], 'another log of a pod')
  const whole = ['0', '1', '2', '3'].map((index) => ({ ...one, pod: `a-${index}`, index }))
  t.strictSame(unseenOf(whole), [])
  t.strictSame(unseenOf([one, { ...one, pod: 'a-1', isCut: true }]), ['2 of 4 pods'])
})
