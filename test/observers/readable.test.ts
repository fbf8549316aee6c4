import t from 'tap'
import { type Identity, observer, startPod, until } from './pod.ts'
import { observerTests, parse, timepointsIn } from './prerequisites.ts'

// What the kernel lets an observer read, by who it is and who its target is (kernel/ptrace.c,
// __ptrace_may_access). The table of docs/observers.md.

const CASES: readonly (readonly [string, Identity, Identity, 'all' | 'no-io', boolean])[] = [
  [
    'the same user and group',
    { user: 1000, group: 1000 },
    { user: 1000, group: 1000 },
    'all',
    true,
  ],
  [
    'the same user of another group',
    { user: 1000, group: 1001 },
    { user: 1000, group: 1000 },
    'no-io',
    true,
  ],
  ['another user', { user: 1001, group: 1001 }, { user: 1000, group: 1000 }, 'no-io', false],
  ['root, of root', { drops: false }, {}, 'all', true],
  ['root without capabilities, of root with all', { drops: true }, {}, 'no-io', true],
  [
    'root without capabilities, of another user',
    { drops: true },
    { user: 1000, group: 1000 },
    'no-io',
    false,
  ],
]

for (const [title, watcher, target, counters, hasFiles] of CASES) {
  t.test(`what can be read by ${title}`, { ...observerTests(), timeout: 60_000 }, async (t) => {
    const { run, end } = await startPod()
    t.teardown(end)
    const env = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], env, watcher)
    await run('app', ['sleep', '60'], {}, target)
    await until(watching, () => timepointsIn(watching.log()) >= 2)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    const { data, metadata } = parse('perf-sysstat', watching.log())
    const last = data.at(-1)
    t.equal(metadata.counters, counters)
    t.equal(
      last?.io_statistics?.[0]?.kb_rd_s === null,
      counters === 'no-io',
      'hidden bytes are null',
    )
    t.equal(last?.kernel_tables?.[0]?.fd_nr !== null, hasFiles, 'open files')
    t.type(last?.cpu_statistics_task?.[0]?.percent_cpu, 'number')
    t.type(last?.task_switching?.[0]?.cswch_s, 'number')
    t.ok(Number(last?.pagefaults_task?.[0]?.rss) > 0)
  })
}

t.test(
  'what can be read of a process that becomes another user',
  { ...observerTests(), timeout: 60_000 },
  async (t) => {
    const { run, end } = await startPod()
    t.teardown(end)
    const env = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], env, { drops: true })
    const becoming = 'sleep 1; exec setpriv --reuid 1000 --regid 1000 --clear-groups sleep 60'
    await run('app', ['sh', '-c', becoming])
    const filesIn = () => [
      ...watching.log().matchAll(/"fd_nr":([^,]+),[^}]*"program":"(sh|sleep|setpriv)"/g),
    ]
    await until(watching, () => filesIn().some(([, files]) => files === 'null'))
    t.not(filesIn()[0]?.[1], 'null', 'while it was root')
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
  },
)
