import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { observer, podOf } from './pod.ts'
import { observerTests, parse } from './prerequisites.ts'

const ENDING = { RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }
const SOON = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const PERF = observer('perf-sysstat')

// What is wrong, the observer's command and environment, and the line that says so.
const CASES: readonly (readonly [string, readonly string[], NodeJS.ProcessEnv, RegExp])[] = [
  [
    'an impossible regular expression',
    [PERF],
    { ...SOON, RIDEALONG_TARGET_COMMAND: 'lmp(' },
    /ended: target-command is no regular expression: Unmatched \( /,
  ],
  [
    'a regular expression that takes gigabytes to compile',
    [PERF],
    { ...SOON, RIDEALONG_TARGET_COMMAND: '((((a{1,255}){1,255}){1,255}){1,255})' },
    /ended: target-command is no regular expression: .*memory exhausted/i,
  ],
  [
    'a rate that is no number',
    [PERF],
    { ...SOON, RIDEALONG_OPTION_RATE: 'often' },
    /ended: rate is "often"; it must be a number, at least 0.1/,
  ],
  [
    'no target container',
    [PERF],
    {},
    /ended: RIDEALONG_TARGET_CONTAINER must name a container of the pod/,
  ],
  [
    'a target that never comes',
    [PERF],
    { ...SOON, RIDEALONG_TARGET_COMMAND: '^lmp$', RIDEALONG_OPTION_TIMEOUT: '1' },
    /ended: no sign of a program whose name matches \^lmp\$ within 1 seconds/,
  ],
  [
    'an unreadable /proc',
    ['sh', '-c', `mount -t tmpfs none /proc; exec ${PERF}`],
    SOON,
    /ended: \/proc cannot be read/,
  ],
  [
    'a full disk behind stdout',
    ['sh', '-c', `exec ${PERF} >/dev/full`],
    SOON,
    /the log cannot be written: No space left on device/,
  ],
]

for (const [title, argv, env, line] of CASES) {
  t.test(
    `${title}: a clear line, the closing marker, and the application untouched`,
    { ...observerTests(), timeout: 60_000 },
    async (t) => {
      const { run } = await podOf(t)
      const app = await run('app', ['sh', '-c', 'sleep 4; exit 7'])
      const watching = await run('perf-sysstat', argv, { ...env, ...ENDING })
      t.equal(await watching.ended, 0)
      t.match(watching.log(), line)
      if (!title.includes('full')) t.strictSame(parse('perf-sysstat', watching.log()).data, [])
      const native = await run('perf-sysstat', argv, env)
      await sleep(1500)
      process.kill(native.pid, 0)
      t.equal(await app.ended, 7)
      native.signal('SIGTERM')
      t.equal(await native.ended, 0, 'a native sidecar stays until it is told')
      if (!title.includes('full')) t.match(native.log(), 'METRICS OPERATOR COLLECTION END')
    },
  )
}
