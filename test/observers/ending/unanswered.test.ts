import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { until as untilTrue } from '../../until.ts'
import { observer, podOf, type Running } from '../pod.ts'
import { fuseTests, hangingMount, waitsForFuse } from './fuse.ts'

const options = fuseTests()
const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const NATIVE = { ...ENV, RIDEALONG_MODE: 'native' }
const CONTAINER = { ...ENV, RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }

/**
 * Starts an observer of network that waits in the kernel for a server of FUSE, because it looks for
 * the devices in /sys/class/infiniband when it starts.
 */
async function startWaiting(t: Test, env: NodeJS.ProcessEnv): Promise<Running> {
  const pod = await podOf(t)
  const mount = hangingMount('/sys/class', 'reads no requests')
  mount.stop()
  const watching = await pod.run('network', mount.afterMount(observer('network')), env)
  await mount.mountIn(pod, watching)
  await untilTrue('the observer waits for the server', () => waitsForFuse(watching.pid))
  return watching
}

for (const [mode, env] of Object.entries({ native: NATIVE, container: CONTAINER })) {
  t.test(`in mode ${mode}, SIGTERM ends an observer that waits for FUSE`, options, async (t) => {
    const watching = await startWaiting(t, env)
    t.match(readFileSync(`/proc/${watching.pid}/status`, 'utf8'), /^State:\s+S/m)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    t.equal(watching.log().split('METRICS OPERATOR COLLECTION END\n').length, 2)
  })
}

t.test('in mode container, a call that does not return ends the observer', options, async (t) => {
  const watching = await startWaiting(t, CONTAINER)
  t.equal(await watching.ended, 0)
  t.equal(watching.log().split('METRICS OPERATOR COLLECTION END\n').length, 2)
})
