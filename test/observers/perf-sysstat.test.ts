import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until as untilTrue } from '../until.ts'
import { observer, podOf, until } from './pod.ts'
import { observerTests, parse, type Row, summaryOf, timepointsIn } from './prerequisites.ts'

const options = observerTests()

const SECTIONS = {
  cpu_statistics_task:
    'interval percent_usr percent_system percent_guest percent_wait percent_cpu cpu',
  cpu_statistics_child: 'usr_ms system_ms guest_ms',
  io_statistics: 'kb_rd_s kb_wr_s kb_ccwr_s iodelay',
  policy: 'prio policy',
  pagefaults_task: 'minflt_s majflt_s vsz rss percent_mem',
  pagefaults_child: 'minflt_nr majflt_nr',
  stack_utilization: 'stksize stkref',
  threads_task: 'interval percent_usr percent_system percent_guest percent_wait percent_cpu cpu',
  threads_child: 'usr_ms system_ms guest_ms',
  kernel_tables: 'threads fd_nr',
  task_switching: 'cswch_s nvcswch_s',
}

const NATIVE = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const CONTAINER = { ...NATIVE, RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }

/**
 * Returns the number of voluntary context switches of a process: how often the process began to
 * sleep.
 */
function sleepsOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1])
}

function programs(rows: readonly Row[] = []): readonly unknown[] {
  return [...new Set(rows.map((row) => row.program))].sort()
}

t.test('each timepoint in the log has all sections and keys of pidstat', options, async (t) => {
  const { run } = await podOf(t)
  // An observer that starts first could take its timepoints before the program has started.
  const app = await run('app', ['sh', '-c', 'echo started; while :; do :; done'])
  await until(app, /started/)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], {
    ...CONTAINER,
    RIDEALONG_OPTION_COMPLETIONS: '3',
    POD_NAME: 'lammps-0',
    JOB_COMPLETION_INDEX: '0',
    RIDEALONG_CATALOG: '3f2a91c0',
  })
  t.equal(await watching.ended, 0)
  const { data, metadata } = parse('perf-sysstat', watching.log())
  t.equal(data.length, 3, 'completions is the number of timepoints')
  for (const timepoint of data) {
    t.strictSame(Object.keys(timepoint), Object.keys(SECTIONS))
    for (const [section, keys] of Object.entries(SECTIONS)) {
      const expected = `time uid pid ${keys} command container program`.split(' ')
      const found = Object.keys(timepoint[section]?.[0] ?? {})
      t.strictSame(found, expected, `the keys of the section ${section}`)
    }
  }
  t.match(metadata, { pod: 'lammps-0', container: 'app', catalog: '3f2a91c0', counters: 'all' })
  t.match(metadata, { completionIndex: '0', metricName: 'perf-sysstat' })
})

t.test(
  'without a target-command, exactly the processes of the target container have rows',
  options,
  async (t) => {
    const { run } = await podOf(t)
    await run('other', ['sleep', '60'])
    await run('io-sysstat', [observer('io-sysstat')], NATIVE)
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], NATIVE)
    const app = await run('app', [
      'sh',
      '-c',
      'sleep 600 & sleep 601 & sh -c "echo started; while :; do :; done" & wait',
    ])
    await until(app, /started/)
    const before = timepointsIn(watching.log())
    await until(watching, () => timepointsIn(watching.log()) >= before + 3)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    const rows = parse('perf-sysstat', watching.log()).data.at(-1)?.cpu_statistics_task ?? []
    t.strictSame(programs(rows), ['sh', 'sleep'])
    t.equal(rows.length, 4)
    t.ok(rows.every((row) => row.container === 'app'))
  },
)

t.test('a name that looks like lines of /proc does not change the numbers', options, async (t) => {
  const { run } = await podOf(t)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], NATIVE)
  const names = ['VmRSS: 7 Uid: 9', ') Z 0 (1 2 3']
  const named = 'printf %s "$1" >/proc/self/comm; echo named; while :; do sleep 0.05; done'
  for (const name of names) await until(await run('app', ['sh', '-c', named, 'sh', name]), /named/)
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) >= before + 3)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const { pagefaults_task: rows = [] } = parse('perf-sysstat', watching.log()).data.at(-1) ?? {}
  for (const name of names) {
    const row = rows.find(({ command }) => command === name)
    t.match(row, { uid: 0, program: 'sh' }, `the process ${name} has its own user and program`)
    const isTrue = Number(row?.rss) > 100 && Number(row?.vsz) > 1000
    t.ok(isTrue, `the process ${name} has ${row?.rss} KiB of memory`)
  }
})

t.test(
  'with a target-command, the matching programs of all containers except observers have rows',
  options,
  async (t) => {
    const { run } = await podOf(t)
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], {
      ...NATIVE,
      RIDEALONG_TARGET_COMMAND: '^(lmp|sh|sleep|gawk)$',
      RIDEALONG_OBSERVERS: 'perf-sysstat io-sysstat of-an-administrator',
    })
    await run('io-sysstat', [observer('io-sysstat')], NATIVE)
    await run('of-an-administrator', ['sleep', '62'])
    const lmp = 'cp /bin/sleep /dev/shm/lmp; /dev/shm/lmp 60 & exec tail -f /dev/null # lmp'
    await run('app', ['bash', '-c', lmp])
    await run('worker', ['sh', '-c', 'sleep 60 & wait'])
    await until(
      watching,
      () => /"program":"lmp"/.test(watching.log()) && /"worker"/.test(watching.log()),
    )
    const before = timepointsIn(watching.log())
    await until(watching, () => timepointsIn(watching.log()) >= before + 2)
    watching.signal('SIGTERM')
    await watching.ended
    const rows = parse('perf-sysstat', watching.log()).data.at(-1)?.cpu_statistics_task ?? []
    t.strictSame(rows.map((row) => `${row.container} ${row.program}`).sort(), [
      'app lmp',
      'worker sh',
      'worker sleep',
    ])
  },
)

t.test(
  'a shell that has executed a Python script has the name of the script as its program',
  options,
  async (t) => {
    const { run } = await podOf(t)
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], NATIVE)
    const script = [
      'printf "import time\\ntime.sleep(60)\\n" >/dev/shm/train.py',
      'sleep 1',
      'exec python3 -u -W ignore /dev/shm/train.py',
    ].join('; ')
    await run('app', ['bash', '-c', script])
    await until(watching, /"program":"train.py"/)
    watching.signal('SIGTERM')
    await watching.ended
    t.strictSame(programs(parse('perf-sysstat', watching.log()).data.at(-1)?.policy), ['train.py'])
  },
)

t.test(
  'in mode native, the observer continues until SIGTERM after the application has ended',
  options,
  async (t) => {
    const { run } = await podOf(t)
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], NATIVE)
    const step = async () => {
      const app = await run('app', ['sleep', '600'])
      const before = timepointsIn(watching.log())
      await until(watching, () => timepointsIn(watching.log()) > before)
      app.signal('SIGTERM')
      await app.ended
      await sleep(1000)
    }
    await step()
    await step()
    t.notMatch(watching.log(), 'COLLECTION END')
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    t.equal(parse('perf-sysstat', watching.log()).data.length, timepointsIn(watching.log()))
  },
)

t.test(
  'in mode native, the observer closes the log after the last timepoint, and keeps running',
  options,
  async (t) => {
    const { run } = await podOf(t)
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], {
      ...NATIVE,
      RIDEALONG_OPTION_COMPLETIONS: '1',
    })
    await run('app', ['sleep', '60'])
    await until(watching, /SUMMARY END/)
    await sleep(600)
    process.kill(watching.pid, 0)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    t.equal(watching.log().split('COLLECTION END').length, 2, 'the log has one closing marker')
  },
)

t.test(
  'in mode container, an observer without a matching program ends with the target container',
  options,
  async (t) => {
    const { run } = await podOf(t)
    const app = await run('app', ['sleep', '600'])
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], {
      ...CONTAINER,
      RIDEALONG_TARGET_COMMAND: 'nothing-of-the-kind',
    })
    await until(watching, /waiting for/)
    // No line of the log shows that the first scan is complete. After the scan, the observer sleeps
    // again.
    const before = sleepsOf(watching.pid)
    await untilTrue('the observer has scanned', () => sleepsOf(watching.pid) >= before + 2)
    app.signal('SIGTERM')
    await app.ended
    t.equal(await watching.ended, 0)
    t.match(watching.log(), /ended: all processes of container app have ended/)
    const always = await run('perf-sysstat', [observer('perf-sysstat')], {
      ...CONTAINER,
      RIDEALONG_RESTART_POLICY: 'Always',
    })
    await until(always, () => always.log() !== '')
    await (await run('app', ['sleep', '0.8'])).ended
    await sleep(1500)
    t.notMatch(always.log(), 'COLLECTION END', 'with restartPolicy Always, the observer continues')
    always.signal('SIGTERM')
    t.equal(await always.ended, 0)
  },
)

t.test('the termination message is the start of the summary', options, async (t) => {
  const { run } = await podOf(t)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], CONTAINER)
  const many = `
    i=0
    while [ $i -lt 60 ]; do
      program=/dev/shm/a-program-of-a-long-name-$i
      cp /bin/sleep $program
      $program 600 >/dev/null 2>&1 &
      pids="$pids $!"
      i=$((i+1))
    done
    trap "kill $pids" USR1
    echo started
    wait
    wait`
  const app = await run('app', ['sh', '-c', many])
  await until(app, /started/)
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) >= before + 3)
  app.signal('SIGUSR1')
  t.equal(await watching.ended, 0)
  const message = watching.message()
  t.ok(message.length <= 4096, `the message has ${message.length} bytes, at most 4096`)
  const lines = message
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(lines[0], { metric: 'perf-sysstat' })
  t.ok(lines[0].processes >= 61, 'the sixty programs, their shell, and possibly cp are counted')
  t.strictSame(lines, summaryOf(watching.log()).slice(0, lines.length))
  t.ok(summaryOf(watching.log()).length >= 62, 'the log has the whole summary')
})

t.test('with the option threads, each thread has a row', options, async (t) => {
  const { run } = await podOf(t)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], {
    ...NATIVE,
    // The threads are read a little after their process. The longer the interval, the less this
    // delay matters.
    RIDEALONG_OPTION_RATE: '2',
    RIDEALONG_OPTION_THREADS: 'true',
  })
  const burn = `
import threading, time
def burn(): [0 for _ in iter(int, 1)]
for _ in range(2): threading.Thread(target=burn, daemon=True).start()
print('started', flush=True)
time.sleep(600)`
  await until(await run('app', ['python3', '-c', burn]), /started/)
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) >= before + 3)
  watching.signal('SIGTERM')
  await watching.ended
  const rows = parse('perf-sysstat', watching.log()).data.at(-1)?.cpu_statistics_task ?? []
  t.equal(rows.length, 4, 'the process and its three threads have rows')
  t.match(rows[0], { tid: '-', tgid: String(rows[0]?.pid) })
  t.ok(
    rows
      .slice(1)
      .every(
        (row) =>
          row.tgid === '-' && row.pid === rows[0]?.pid && String(row.command).startsWith('|__'),
      ),
  )
  const shares = rows.map((row) => Number(row.percent_cpu))
  const [whole = 0, ...parts] = shares
  const ofThreads = parts.reduce((sum, part) => sum + part, 0)
  t.ok(Math.abs(whole - ofThreads) <= 12, `process: ${whole} %, its threads: ${ofThreads} %`)
})

t.test(
  'the parser reads program names that contain its keywords or special characters',
  options,
  async (t) => {
    const { run } = await podOf(t)
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], NATIVE)
    const names = ['POLICY', 'METRICS OPERATOR COLLECTION END', 'say "no"', 'a\\b', 'caf\u00e9']
    const starts = names.map((name) => `cp /bin/sleep '/dev/shm/${name}'; '/dev/shm/${name}' 60 &`)
    const script = `${starts.join(' ')} echo started; wait`
    await until(await run('app', ['sh', '-c', script]), /started/)
    const before = timepointsIn(watching.log())
    await until(watching, () => timepointsIn(watching.log()) >= before + 3)
    watching.signal('SIGTERM')
    await watching.ended
    const { data } = parse('perf-sysstat', watching.log())
    t.equal(data.length, timepointsIn(watching.log()))
    t.strictSame(programs(data.at(-1)?.task_switching), [...names, 'sh'].sort())
  },
)
