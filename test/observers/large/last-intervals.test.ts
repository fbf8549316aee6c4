import t from 'tap'
import { observer, podOf } from '../pod.ts'
import { observerTests, summaryOf } from '../prerequisites.ts'
import { makeCgroup, withCgroups } from '../pressure/cgroup.ts'
import { compiled } from '../processes/compiled.ts'

// Fifty jobs, each of one process that uses 5 s and ends between two scans. If a busy machine stops
// the observer at the end of the process, the cgroup of the container still has the rest.

const options = { ...observerTests(), timeout: 1_200_000 }
const ENDING = {
  RIDEALONG_TARGET_CONTAINER: 'app',
  RIDEALONG_MODE: 'container',
  RIDEALONG_RESTART_POLICY: 'Never',
}
const RUNS = 50
const SECONDS = 5
const MIN = 4.8

t.test('each of 50 jobs of 5 s has 4.8 s', withCgroups(options, 'unified'), async (t) => {
  const [burns] = compiled(t, 'burns')
  let complete = 0
  for (let run = 1; run <= RUNS; run += 1) {
    const cgroup = makeCgroup(t, 'unified')
    const pod = await podOf(t)
    const watching = await pod.run('perf-sysstat', [observer('perf-sysstat')], ENDING)
    const job = `${cgroup.enter}; exec ${burns} ${SECONDS} 1`
    const app = await pod.run('app', ['sh', '-c', job])
    t.equal(await app.ended, 0)
    t.equal(await watching.ended, 0)
    const [whole] = summaryOf(watching.log())
    const used = Number(whole?.cpu_seconds)
    const rest = Number(whole?.unaccounted_cpu_seconds)
    t.ok(used + rest >= MIN, `run ${run}: ${used} s, and ${rest} s unaccounted`)
    if (used >= MIN) complete += 1
  }
  t.comment(`${complete} of ${RUNS} jobs have ${MIN} s without the unaccounted time`)
})
