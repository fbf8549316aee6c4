import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { observer, podOf } from '../pod.ts'
import { observerTests, parseAll, timepointsIn } from '../prerequisites.ts'

const RUNS = 100
const AT_ONCE = 4

t.test(
  'the log is complete after SIGTERM at each of a hundred random times',
  { ...observerTests(), timeout: 800_000 },
  async (t) => {
    const { run } = await podOf(t)
    await run('app', ['sh', '-c', 'sleep 600 & sleep 600 & while :; do sleep 0.05; done'])
    const logs: string[] = []
    const takeOne = async () => {
      const watching = await run('perf-sysstat', [observer('perf-sysstat')], {
        RIDEALONG_TARGET_CONTAINER: 'app',
        RIDEALONG_OPTION_RATE: '0.1',
      })
      // Only the observer writes to the log, so it runs when the log is no longer empty.
      while (watching.log() === '') await sleep(5)
      await sleep(Math.random() * 700)
      watching.signal('SIGTERM')
      t.equal(await watching.ended, 0)
      logs.push(watching.log())
    }
    const line = async () => {
      while (logs.length < RUNS) await takeOne()
    }
    await Promise.all(Array.from({ length: AT_ONCE }, line))
    const taken = logs.map(timepointsIn)
    t.strictSame(
      parseAll('perf-sysstat', logs).map(({ data }) => data.length),
      taken,
    )
    t.ok(
      taken.some((count) => count > 3),
      'some logs have timepoints',
    )
    t.ok(logs.every((log) => log.trimEnd().endsWith('SUMMARY END')))
  },
)
