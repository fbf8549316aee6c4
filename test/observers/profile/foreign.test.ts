import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until as untilTrue } from '../../until.ts'
import { fuseTests, hangingMount, SILENCES, type Silence, waitsForFuse } from '../ending/fuse.ts'
import { noticesOf } from '../json-rows.ts'
import { childrenOf, observer, openFolder, podOf, until } from '../pod.ts'
import { onPath } from '../prerequisites.ts'

const options = fuseTests()
const CONTAINER = { RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }
/**
 * Loads a library, and waits. The process has no open file of the file system: its end would wait
 * for the server, because the kernel asks the server for each file that is closed.
 */
const MAP = `
import ctypes, sys, time
library = ctypes.CDLL(sys.argv[1])
print('mapped', flush=True)
time.sleep(600)`

/** Starts a process with code on a file system whose server stops to answer, and an observer. */
async function observeHungFile(t: Test, silence: Silence, env: NodeJS.ProcessEnv) {
  const pod = await podOf(t)
  const mount = hangingMount(openFolder('ridealong-mount-'), silence)
  const map = [onPath('python3'), '-c', MAP, join(mount.path, 'file')]
  const app = await pod.run('app', mount.afterMount(...map))
  await mount.mountIn(pod, app)
  await until(app, /mapped/)
  mount.stop()
  const results = openFolder('ridealong-results-')
  const settings = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_RESULTS: results, ...env }
  const watching = await pod.run('cpu-profile', [observer('cpu-profile')], settings)
  const waits = () => childrenOf(watching.pid).some(waitsForFuse)
  await untilTrue('a child waits for the file', waits)
  return { app, watching }
}

for (const silence of SILENCES) {
  t.test(`SIGTERM ends an observer whose file has a server that ${silence}`, options, async (t) => {
    const { watching } = await observeHungFile(t, silence, {})
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    t.match(watching.log(), /SUMMARY END/)
  })

  t.test(`the observer ends with its target if a server ${silence}`, options, async (t) => {
    const { app, watching } = await observeHungFile(t, silence, CONTAINER)
    await until(watching, () => noticesOf(watching).length > 0)
    const notice = /^the file system of \S+\/file does not answer: functions have no names$/
    t.match(noticesOf(watching), [notice])
    app.signal('SIGKILL')
    t.equal(await watching.ended, 0)
    t.match(watching.log(), /SUMMARY END/)
  })
}
