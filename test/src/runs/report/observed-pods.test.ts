import t from 'tap'
import type { Entry } from '../../../../src/runs/log/entry.ts'
import { addEntry, newRun } from '../../../../src/runs/report/gather.ts'
import { listObservedPods, podNotices } from '../../../../src/runs/report/observed-pods.ts'

/** Returns the run with these logs, each of a namespace. */
function runOf(logs: readonly (readonly [string, object | null])[]) {
  const run = newRun()
  for (const [index, [namespace, observedPods]] of logs.entries()) {
    const place = { source: `log-${index}`, metric: 'perf-sysstat', namespace, pod: `${index}` }
    addEntry(run, { kind: 'log', ...place, observedPods } as unknown as Entry)
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
