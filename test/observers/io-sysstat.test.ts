import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { observer, podOf, until } from './pod.ts'
import { observerTests, parse, timepointsIn } from './prerequisites.ts'

const options = { ...observerTests(), timeout: 800_000 }
const NATIVE = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '1' }

t.test(
  'in mode container, io-sysstat writes complete documents, with devices: node in the metadata',
  options,
  async (t) => {
    const { run } = await podOf(t)
    const app = await run('app', ['sleep', '600'])
    const watching = await run('io-sysstat', [observer('io-sysstat')], {
      ...NATIVE,
      RIDEALONG_MODE: 'container',
      RIDEALONG_RESTART_POLICY: 'OnFailure',
    })
    await until(watching, () => timepointsIn(watching.log()) >= 1)
    app.signal('SIGTERM')
    await app.ended
    t.equal(await watching.ended, 0, 'the observer ends with the target container')
    const { data, metadata } = parse('io-sysstat', watching.log())
    t.ok(data.length >= 1)
    t.equal(data.length, timepointsIn(watching.log()))
    t.match(metadata, { metricName: 'io-sysstat', devices: 'node' })
    for (const document of data) t.match(document, { sysstat: { hosts: [{ statistics: [{}] }] } })
    t.match(JSON.parse(watching.message().split('\n')[0] ?? ''), {
      metric: 'io-sysstat',
      devices: 'node',
    })
  },
)

t.test(
  'the log has all previous documents after SIGTERM in the middle of an interval',
  options,
  async (t) => {
    const { run } = await podOf(t)
    for (const milliseconds of [200, 1400, 2600]) {
      const watching = await run('io-sysstat', [observer('io-sysstat')], NATIVE)
      // An earlier signal would end the shell that starts the observer.
      await until(watching, /COLLECTION START/)
      await sleep(milliseconds)
      watching.signal('SIGTERM')
      t.equal(await watching.ended, 0)
      t.equal(parse('io-sysstat', watching.log()).data.length, timepointsIn(watching.log()))
    }
  },
)
