import t from 'tap'
import { observer, podOf } from '../pod.ts'
import { observerTests, summaryOf } from '../prerequisites.ts'
import { compiled } from './compiled.ts'

// Tests with processes whose first thread is not the thread that works.

const options = { ...observerTests(), timeout: 800_000 }
const ENDING = {
  RIDEALONG_TARGET_CONTAINER: 'app',
  RIDEALONG_OPTION_RATE: '0.5',
  RIDEALONG_MODE: 'container',
  RIDEALONG_RESTART_POLICY: 'Never',
}

t.test(
  'counters of a thread that executes another program are counted once',
  options,
  async (t) => {
    const program = compiled(t, 'executes')
    const { run } = await podOf(t)
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENDING)
    const app = await run('app', program)
    t.equal(await app.ended, 0)
    t.equal(await watching.ended, 0)
    const truth = JSON.parse(app.log())
    t.ok(truth.switches > 1000 && truth.written >= 24 << 20, app.log())
    const [seen] = summaryOf(watching.log())
    // The process sleeps once more after it has printed its counters.
    const switches = Number(seen?.context_switches) - truth.switches
    t.ok(switches >= -20 && switches <= 40, `context switches: ${switches} more than the truth`)
    t.equal(seen?.bytes_written, truth.written)
    t.ok(Number(seen?.bytes_read) <= truth.read + 65_536, `${seen?.bytes_read} bytes read`)
  },
)
