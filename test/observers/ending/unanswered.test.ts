import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until as untilTrue } from '../../until.ts'
import { observer, openFolder, podOf } from '../pod.ts'
import { fuseTests, withFuse } from './fuse.ts'

const options = fuseTests()
const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const NATIVE = { ...ENV, RIDEALONG_MODE: 'native' }
const CONTAINER = { ...ENV, RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }

/**
 * Starts an observer of network that waits in the kernel for a server of FUSE, because it looks for
 * the devices in /sys/class/infiniband when it starts.
 */
async function startWaiting(t: Test, env: NodeJS.ProcessEnv) {
  const { run } = await podOf(t)
  const stop = join(openFolder('ridealong-fuse-'), 'stop')
  writeFileSync(stop, '')
  const silence = 'reads no requests'
  const mount = { path: '/sys/class', source: process.execPath, stop, silence } as const
  const watching = await run('network', [...withFuse(mount, observer('network'))], env)
  await untilTrue('the observer waits for the server', () => waitsForFuse(watching.pid))
  return watching
}

type Test = Parameters<typeof podOf>[0]

/** Whether the first thread of a process waits for a server of FUSE, in any state. */
function waitsForFuse(pid: number): boolean {
  return readFileSync(`/proc/${pid}/wchan`, 'utf8') === 'request_wait_answer'
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
