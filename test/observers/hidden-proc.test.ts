import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { observer, podOf, until } from './pod.ts'
import { observerTests, onPath, parse, summaryOf } from './prerequisites.ts'

// Tests with a restricted /proc, which hides the application from an observer of another user, or
// contains only the directories of processes. The observer always exits with 0.

const options = observerTests()
const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const ENDING = { RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }

/** Runs a metric as user 65532, with its own mount of /proc. */
function hidden(mountOptions: string, metric: 'perf-sysstat' | 'io-sysstat'): readonly string[] {
  const become = `${onPath('setpriv')} --reuid=65532 --regid=65532 --clear-groups`
  const mount = `mount -t proc -o ${mountOptions} none /proc`
  return ['sh', '-c', `${mount}; exec ${become} ${observer(metric)}`]
}

for (const hidepid of ['1', '2', '4']) {
  t.test(`the observer reports that hidepid=${hidepid} hides the target`, options, async (t) => {
    const { run } = await podOf(t)
    await run('app', ['sleep', '600'])
    const env = { ...ENV, RIDEALONG_OPTION_TIMEOUT: '1' }
    const argv = hidden(`hidepid=${hidepid}`, 'perf-sysstat')
    const native = await run('perf-sysstat', argv, env)
    const container = await run('perf-sysstat', argv, { ...env, ...ENDING })
    t.equal(await container.ended, 0)
    await until(native, /SUMMARY END/)
    await sleep(300)
    process.kill(native.pid, 0)
    native.signal('SIGTERM')
    t.equal(await native.ended, 0, 'a native sidecar stays until SIGTERM')
    for (const { log } of [native, container]) {
      t.match(log(), /ridealong: \/proc is mounted with hidepid=\w+: processes of other users/)
      t.match(log(), /ended: no sign of a process of container app within 1 seconds/)
      t.strictSame(parse('perf-sysstat', log()).data, [])
      t.match(summaryOf(log())[0], { processes: 0 })
    }
  })
}

for (const metric of ['perf-sysstat', 'io-sysstat'] as const) {
  t.test(`${metric} reports a /proc that contains only processes`, options, async (t) => {
    const { run } = await podOf(t)
    await run('app', ['sleep', '600'])
    const watching = await run(metric, hidden('subset=pid', metric), ENV)
    await until(watching, /SUMMARY END/)
    t.match(watching.log(), /ridealong: ended: \/proc cannot be read/)
    process.kill(watching.pid, 0)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    t.strictSame(parse(metric, watching.log()).data, [])
  })
}
