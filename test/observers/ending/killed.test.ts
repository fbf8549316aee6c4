import { readFileSync } from 'node:fs'
import t from 'tap'
import { observer, podOf, until } from '../pod.ts'
import { observerTests, parse, timepointsIn } from '../prerequisites.ts'

const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const APP = 'trap "kill \\$!; exit 7" USR1; echo ready; sleep 600 >/dev/null 2>&1 & wait'

t.test(
  'after SIGKILL has ended an observer, a new observer takes timepoints',
  observerTests(),
  async (t) => {
    const { run } = await podOf(t)
    const app = await run('app', ['sh', '-c', APP])
    await until(app, /ready/)
    const killed = await run('perf-sysstat', [observer('perf-sysstat')], ENV)
    await until(killed, () => timepointsIn(killed.log()) >= 2)
    t.equal(childrenOf(killed.pid), '', 'the observer has no child process')
    killed.signal('SIGKILL')
    t.equal(await killed.ended, 'SIGKILL')
    // The kubelet restarts a native sidecar.
    const next = await run('perf-sysstat', [observer('perf-sysstat')], ENV)
    await until(next, () => timepointsIn(next.log()) >= 2)
    app.signal('SIGUSR1')
    t.equal(await app.ended, 7, 'the application is not affected')
    next.signal('SIGTERM')
    t.equal(await next.ended, 0)
    const { data } = parse('perf-sysstat', next.log())
    t.equal(data.length, timepointsIn(next.log()))
    t.strictSame(new Set(data[0]?.policy?.map(({ program }) => program)), new Set(['sh', 'sleep']))
  },
)

function childrenOf(pid: number): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
}
