import t from 'tap'
import { networkPodOf, withNetworks } from '../network/pod-network.ts'
import { observer, podOf, until } from '../pod.ts'
import { observerTests, summaryOf } from '../prerequisites.ts'

// An observer that measured nothing, because no process appeared or because a setting is invalid.

const NATIVE = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const CONTAINER = { ...NATIVE, RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }

const options = observerTests()
const METRICS = [
  { metric: 'network', startPod: networkPodOf, options: withNetworks(options) },
  { metric: 'pressure', startPod: podOf, options },
] as const

for (const { metric, startPod, options } of METRICS) {
  t.test(`${metric}: a log without rows has markers and a summary`, options, async (t) => {
    const { run } = await startPod(t)
    const idle = await run(metric, [observer(metric)], NATIVE)
    await until(idle, /waiting for a process of container app/)
    idle.signal('SIGTERM')
    t.equal(await idle.ended, 0)
    const wrong = await run(metric, [observer(metric)], {
      ...CONTAINER,
      RIDEALONG_OPTION_RATE: 'often',
    })
    t.equal(await wrong.ended, 0)
    t.match(wrong.log(), /ended: rate is "often"; it must be a number, at least 0\.1/)
    for (const { log } of [idle, wrong]) {
      t.match(log(), /METRICS OPERATOR COLLECTION START\nMETRICS OPERATOR COLLECTION END\n/)
      t.match(summaryOf(log()), [{ metric, timepoints: 0, processes: 0 }])
    }
  })
}
