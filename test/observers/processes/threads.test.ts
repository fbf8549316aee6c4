import t from 'tap'
import { observer, podOf } from '../pod.ts'
import { observerTests, parse, summaryOf } from '../prerequisites.ts'
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

for (const as of [{}, { user: 1234, group: 1234, drops: true }]) {
  const who = 'user' in as ? 'another user' : 'root'
  t.test(`a process whose first thread has ended is measured as ${who}`, options, async (t) => {
    const program = compiled(t, 'first-thread-ends')
    const { run } = await podOf(t)
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENDING, as)
    const app = await run('app', program, {}, as)
    t.equal(await app.ended, 0)
    t.equal(await watching.ended, 0)
    const truth = JSON.parse(app.log())
    const [seen] = summaryOf(watching.log())
    t.match(seen, { processes: 1 })
    const missing = truth.cpu - Number(seen?.cpu_seconds)
    t.ok(Math.abs(missing) <= 0.1, `${seen?.cpu_seconds} of ${truth.cpu} s`)
    t.equal(seen?.bytes_written, truth.written)
    const peak = Number(seen?.peak_rss_kib)
    t.ok(peak >= 48 << 10 && peak <= 1.1 * truth.rss, `peak ${peak} of ${truth.rss} KiB`)
    const rows = parse('perf-sysstat', watching.log()).data
    const last = rows.at(-1)
    t.equal(last?.pagefaults_task?.[0]?.program, 'first-thread-ends')
    t.ok(rows.some(({ pagefaults_task: of }) => Number(of?.[0]?.rss) >= 48 << 10))
    t.ok(rows.some(({ kernel_tables: of }) => Number(of?.[0]?.fd_nr) >= 3))
  })
}
