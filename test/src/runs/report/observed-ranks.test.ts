import t from 'tap'
import type { Entry } from '../../../../src/runs/log/entry.ts'
import { addEntry, newRun } from '../../../../src/runs/report/gather.ts'
import { listObservedRanks, rankNotices } from '../../../../src/runs/report/observed-ranks.ts'

/** Returns the run with these logs, each of a namespace. */
function runOf(logs: readonly (readonly [string, object | null])[]) {
  const run = newRun()
  for (const [index, [namespace, observedRanks]] of logs.entries()) {
    const place = { source: `log-${index}`, metric: 'perf-sysstat', namespace, pod: `${index}` }
    addEntry(run, { kind: 'log', ...place, observedRanks } as unknown as Entry)
  }
  return run
}

const ranks = (workload: string, observed: number, total: number) => ({
  workload,
  total,
  observed,
  metrics: { 'perf-sysstat': observed },
})

t.test('each workload has the count of the log with the most ranks', async (t) => {
  const run = runOf([
    ['hpc', ranks('job/a', 4, 16)],
    ['hpc', ranks('job/a', 5, 20)],
    ['hpc', ranks('job/a', 5, 18)],
    ['hpc', ranks('job/b', 1, 2)],
    ['other', ranks('job/a', 1, 3)],
    ['hpc', null],
  ])
  t.strictSame(listObservedRanks(run), [
    ranks('job/a', 5, 20),
    ranks('job/b', 1, 2),
    ranks('job/a', 1, 3),
  ])
  t.match(rankNotices(run), [/^job\/a: 5 of 20 ranks observed \(/, /^job\/b: 1 of 2 /, /1 of 3 /])
})

t.test('if all ranks are observed, there is no notice', async (t) => {
  t.strictSame(rankNotices(runOf([['hpc', null]])), [])
})
