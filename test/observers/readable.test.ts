import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Identity, observer, openFolder, podOf, type Running, until } from './pod.ts'
import { observerTests, parse, summaryOf, timepointsIn } from './prerequisites.ts'

const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }

// Tests of the table in docs/metrics/README.md: the files that an observer may read depend
// on its identity and on its target (kernel/ptrace.c, __ptrace_may_access).

// The end of the title, the identities of the observer and of the target, the counters that the
// observer can read, and whether it can read the number of open files.
const CASES: readonly (readonly [string, Identity, Identity, 'all' | 'no-io', boolean])[] = [
  [
    'with the user and the group of its target can read all counters',
    { user: 1000, group: 1000 },
    { user: 1000, group: 1000 },
    'all',
    true,
  ],
  [
    'with the user, but not the group, of its target cannot read I/O',
    { user: 1000, group: 1001 },
    { user: 1000, group: 1000 },
    'no-io',
    true,
  ],
  [
    'with another user than its target cannot read I/O and open files',
    { user: 1001, group: 1001 },
    { user: 1000, group: 1000 },
    'no-io',
    false,
  ],
  ['that is root can read all counters of root', { drops: false }, {}, 'all', true],
  [
    'that is root without capabilities cannot read the I/O of root with all capabilities',
    { drops: true },
    {},
    'no-io',
    true,
  ],
  [
    'that is root without capabilities cannot read I/O and open files of another user',
    { drops: true },
    { user: 1000, group: 1000 },
    'no-io',
    false,
  ],
]

for (const [title, watcher, target, counters, hasFiles] of CASES) {
  t.test(`an observer ${title}`, observerTests(), async (t) => {
    const { run } = await podOf(t)
    const watching = await run(
      'perf-sysstat',
      [observer('perf-sysstat')],
      {
        ...ENV,
        // In the imitation of a container, the programs that run before sleep run as root.
        RIDEALONG_TARGET_COMMAND: '^sleep$',
      },
      watcher,
    )
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
      'bytes are null only if they cannot be read',
    )
    for (const sum of summaryOf(watching.log())) {
      t.equal(
        sum.bytes_read === null,
        counters === 'no-io',
        'sums of bytes are null only if the bytes cannot be read',
      )
      t.equal(sum.unaccounted_bytes_written === null, counters === 'no-io')
    }
    t.equal(last?.kernel_tables?.[0]?.fd_nr !== null, hasFiles, 'fd_nr is null only if unreadable')
    t.type(last?.cpu_statistics_task?.[0]?.percent_cpu, 'number')
    t.type(last?.task_switching?.[0]?.cswch_s, 'number')
    t.ok(Number(last?.pagefaults_task?.[0]?.rss) > 0)
  })
}

t.test('open files become null when a process changes its user', observerTests(), async (t) => {
  const { run } = await podOf(t)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENV, { drops: true })
  const becoming = [
    'trap : USR1; sleep 600 & echo ready; wait',
    'exec setpriv --reuid 1000 --regid 1000 --clear-groups sleep 600',
  ].join('; ')
  const app = await run('app', ['dash', '-c', becoming])
  await until(app, /ready/)
  const filesIn = () => [
    ...watching.log().matchAll(/"fd_nr":([^,]+),[^}]*"program":"(dash|sleep|setpriv)"/g),
  ]
  await until(watching, () => filesIn().some(([, , program]) => program === 'dash'))
  app.signal('SIGUSR1')
  await until(watching, () => filesIn().some(([, files]) => files === 'null'))
  t.not(filesIn()[0]?.[1], 'null', 'the number was known while the process was root')
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
})

t.test(
  'the peak RSS of an interpreter is kept, although the address of its stack is hidden',
  observerTests(),
  async (t) => {
    const { run } = await podOf(t)
    const other = { user: 1001, group: 1001 }
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENV, other)
    const script =
      'grown=$(head -c 60000000 /dev/zero | tr "\\0" x); echo grown; while :; do :; done'
    const app = await run('app', ['bash', '-c', script], {}, { user: 1000, group: 1000 })
    await until(app, /grown/)
    const before = timepointsIn(watching.log())
    await until(watching, () => timepointsIn(watching.log()) >= before + 3)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    const { peak_rss_kib: peak } =
      summaryOf(watching.log()).find(({ program }) => program === 'bash') ?? {}
    t.ok(Number(peak) > 60_000, `the peak RSS is ${peak} KiB, more than 60,000 KiB`)
  },
)

/**
 * Compiles a C program and runs it next to an observer with the same user, until the program ends.
 * Each time the program pauses, the observer takes three timepoints before the program continues.
 */
async function watchedByItsUser(
  t: Test,
  name: string,
  source: string,
  rests: number,
): Promise<Running> {
  const folder = openFolder('ridealong-readable-')
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const program = join(folder, name)
  execFileSync('gcc', ['-x', 'c', '-pthread', '-o', program, '-'], { input: source })
  const { run } = await podOf(t)
  const user = { user: 1000, group: 1000 }
  // Before the program starts, its process runs a shell of root, whose io cannot be read.
  const env = { ...ENV, RIDEALONG_TARGET_COMMAND: `^${name}$` }
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], env, user)
  await until(watching, /waiting for/)
  const app = await run('app', [program], {}, user)
  for (let rest = 1; rest <= rests; rest++) {
    await until(app, () => app.log().length >= rest)
    const before = timepointsIn(watching.log())
    await until(watching, () => timepointsIn(watching.log()) >= before + 3)
    app.signal('SIGUSR1')
  }
  t.equal(await app.ended, 0)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  return watching
}

/**
 * The functions of the C programs: `write_one` writes a mebibyte to storage; `rest` prints a dot
 * and waits for SIGUSR1.
 */
const WRITING = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static sigset_t usr1;
static void begin(void) {
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr1, 0);
}
static void wait_for_signal(void) {
  int number;
  sigwait(&usr1, &number);
}
static void rest(void) {
  if (write(1, ".", 1) != 1) exit(1);
  wait_for_signal();
}
static void write_one(void) {
  static char data[1 << 20];
  int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  if (file < 0 || write(file, data, sizeof data) != sizeof data || fsync(file) != 0) exit(1);
}`

/**
 * A program that writes while its io can be read, while its io is hidden, and while its io can be
 * read again. Then the program hides its io and writes nothing.
 */
const HIDING = `${WRITING}
int main(void) {
  begin();
  int dumpable[] = { 1, 0, 1, 0, 1 }, writes[] = { 1, 1, 1, 0, 0 };
  for (int i = 0; i < 5; i++) {
    prctl(PR_SET_DUMPABLE, dumpable[i]);
    if (writes[i]) write_one();
    rest();
  }
  return 0;
}`

t.test(
  'the bytes that a process wrote while its io was hidden are counted when io can be read again',
  observerTests(),
  async (t) => {
    const watching = await watchedByItsUser(t, 'hiding', HIDING, 5)
    const rows = parse('perf-sysstat', watching.log()).data.flatMap(
      ({ io_statistics: rows = [] }) => rows,
    )
    const seen = rows.map(({ kb_wr_s: written }) => (written === null ? '?' : '0')).join('')
    t.match(seen, /^0+\?+0+\?+0+$/)
    t.equal(mebibytesBy('hiding', watching), 3)
  },
)

/**
 * A program whose child writes and ends. The program does not reap the child, so the io of the
 * child then belongs to root.
 */
const LEAVING = `${WRITING}
int main(void) {
  begin();
  pid_t child = fork();
  if (child == 0) {
    write_one();
    rest();
    return 0;
  }
  wait_for_signal();
  siginfo_t info;
  kill(child, SIGUSR1);
  waitid(P_PID, child, &info, WEXITED | WNOWAIT);
  rest();
  return 0;
}`

t.test('the bytes that a zombie wrote are counted', observerTests(), async (t) => {
  const watching = await watchedByItsUser(t, 'leaving', LEAVING, 2)
  t.match(watching.log(), /"rss":null[^}]*"program":"leaving"/)
  t.equal(mebibytesBy('leaving', watching), 1)
})

/**
 * A program that ends its first thread, and then writes in another thread. The files of the first
 * thread then belong to root.
 */
const HEADLESS = `${WRITING}
#include <pthread.h>
static void *work(void *unused) {
  rest();
  write_one();
  rest();
  exit(0);
  return unused;
}
int main(void) {
  pthread_t thread;
  begin();
  rest();
  pthread_create(&thread, 0, work, 0);
  pthread_exit(0);
}`

t.test(
  'the bytes of a process whose first thread has ended are read from another thread',
  observerTests(),
  async (t) => {
    const watching = await watchedByItsUser(t, 'headless', HEADLESS, 3)
    t.equal(mebibytesBy('headless', watching), 1)
  },
)

/**
 * Returns the mebibytes that a program wrote, according to the summary. The file system adds less
 * than half a mebibyte.
 */
function mebibytesBy(name: string, watching: Running): number {
  const row = summaryOf(watching.log()).find(({ program }) => program === name)
  return Math.round(Number(row?.bytes_written) / 2 ** 20)
}
