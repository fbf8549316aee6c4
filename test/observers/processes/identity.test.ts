import t from 'tap'
import { type Identity, observer, podOf, until } from '../pod.ts'
import { observerTests, parse, summaryOf, timepointsIn } from '../prerequisites.ts'

const options = { ...observerTests(), timeout: 800_000 }
const ENV = {
  RIDEALONG_TARGET_CONTAINER: 'app',
  RIDEALONG_TARGET_COMMAND: '^sleep$',
  RIDEALONG_OPTION_RATE: '0.3',
}

/** The capabilities of root in a container, as far as the tests need them. */
const ROOT = { keeps: ['chown', 'dac_override', 'fowner', 'setuid', 'setgid', 'setpcap', 'kill'] }

// The end of the title, the identities of the observer and of the target, and the counters that the
// observer can read. Root in a container has the capabilities to assume the user and group of
// another process.
const CASES: readonly (readonly [string, Identity, Identity, 'all' | 'no-io'])[] = [
  ['can read all counters of another user', ROOT, { user: 1234, group: 5678 }, 'all'],
  ['can read all counters of root with the same capabilities', ROOT, ROOT, 'all'],
  ['cannot read the I/O of a root process with more capabilities', ROOT, {}, 'no-io'],
  [
    'cannot read the I/O of another user without the capability SETGID',
    { keeps: ['setuid'] },
    { user: 1234, group: 5678 },
    'no-io',
  ],
]

for (const [title, watcher, target, counters] of CASES) {
  t.test(`an observer that is root ${title}`, options, async (t) => {
    const { run } = await podOf(t)
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENV, watcher)
    await run('app', ['sleep', '60'], {}, target)
    await until(watching, () => timepointsIn(watching.log()) >= 2)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    const { data, metadata } = parse('perf-sysstat', watching.log())
    t.equal(metadata.counters, counters)
    const isHidden = counters === 'no-io'
    t.equal(data.at(-1)?.io_statistics?.[0]?.kb_rd_s === null, isHidden)
    t.equal(summaryOf(watching.log())[0]?.bytes_written === null, isHidden)
    const { fd_nr: files } = data.at(-1)?.kernel_tables?.[0] ?? {}
    if (counters === 'all') t.type(files, 'string', 'the number of open files can be read')
    t.ok(Number(data.at(-1)?.pagefaults_task?.[0]?.rss) > 0)
  })
}

t.test('root reads the I/O of other users, and restores its own identity', options, async (t) => {
  const { run } = await podOf(t)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENV, ROOT)
  await run('app', ['sleep', '60'], {}, { user: 1234, group: 5678 })
  await run('app', ['sleep', '60'], {}, ROOT)
  await run('app', ['sleep', '60'], {}, { user: 4321, group: 8765 })
  await until(watching, () => /"uid":4321/.test(watching.log()))
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) >= before + 2)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const rows = parse('perf-sysstat', watching.log()).data.at(-1)?.io_statistics ?? []
  t.strictSame(rows.map(({ uid }) => uid).sort(), [0, 1234, 4321])
  t.ok(rows.every((row) => typeof row.kb_wr_s === 'number'))
  t.ok(watching.message().length > 0, 'the termination message is written as root')
})
