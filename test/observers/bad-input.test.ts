import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { observer, podOf, until } from './pod.ts'
import { observerTests, parse } from './prerequisites.ts'

const ENDING = { RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }
const SOON = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const PERF = observer('perf-sysstat')

// The cause of an error, the observer's command and environment, and the line that reports the
// error.
const CASES: readonly (readonly [string, readonly string[], NodeJS.ProcessEnv, RegExp])[] = [
  [
    'an invalid regular expression',
    [PERF],
    { ...SOON, RIDEALONG_TARGET_COMMAND: 'lmp(' },
    /ended: invalid target-command: a \( has no matching \); write \\\( for the character/,
  ],
  [
    'a regular expression that takes gigabytes to compile',
    [PERF],
    { ...SOON, RIDEALONG_TARGET_COMMAND: '((((a{1,255}){1,255}){1,255}){1,255})' },
    /ended: invalid target-command: .* the pattern exceeds 256 characters/,
  ],
  [
    'a rate that is not a number',
    [PERF],
    { ...SOON, RIDEALONG_OPTION_RATE: 'often' },
    /ended: rate is "often"; it must be a number, at least 0.1/,
  ],
  [
    'a missing target container',
    [PERF],
    {},
    /ended: RIDEALONG_TARGET_CONTAINER must name a container of the pod/,
  ],
  [
    'a target that never starts',
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
    'a full disk on standard output',
    ['sh', '-c', `exec ${PERF} >/dev/full`],
    SOON,
    /the log cannot be written: No space left on device/,
  ],
]

for (const [title, argv, env, line] of CASES) {
  t.test(
    `the observer reports ${title}, and the application is not affected`,
    observerTests(),
    async (t) => {
      const { run } = await podOf(t)
      const app = await run('app', [
        'sh',
        '-c',
        'trap "kill \\$!; exit 7" USR1; echo ready; sleep 600 >/dev/null 2>&1 & wait',
      ])
      await until(app, /ready/)
      const watching = await run('perf-sysstat', argv, { ...env, ...ENDING })
      const native = await run('perf-sysstat', argv, env)
      for (const one of [watching, native]) {
        await until(one, line)
        t.match(one.log(), line)
      }
      // A full disk does not end the observer.
      const isFull = title.includes('full')
      if (!isFull) t.equal(await watching.ended, 0)
      app.signal('SIGUSR1')
      t.equal(await app.ended, 7)
      t.equal(await watching.ended, 0)
      if (!isFull) t.strictSame(parse('perf-sysstat', watching.log()).data, [])
      await sleep(500)
      process.kill(native.pid, 0)
      native.signal('SIGTERM')
      t.equal(await native.ended, 0, 'a native sidecar stays until SIGTERM')
      if (!isFull) t.match(native.log(), 'METRICS OPERATOR COLLECTION END')
    },
  )
}
