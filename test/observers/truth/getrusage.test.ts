import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { observer, podOf } from '../pod.ts'
import { observerTests, parse, type Row, summaryOf } from '../prerequisites.ts'

// Compares the observer's values for a process with the values that the process gets from the
// kernel before it ends (getrusage), for each kind of load and over at least fifty intervals. A
// load sleeps for its last second (five intervals), so that the last sample includes all of its
// work.

const RATE = 0.2
const LOAD = new URL('load.c', import.meta.url).pathname

/** The values that a load prints when it ends. */
interface Usage {
  readonly cpu: number
  readonly rss: number
  readonly read: number
  readonly written: number
  readonly switches: number
}

t.test('rows match getrusage', { ...observerTests(), timeout: 800_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-load-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { run } = await podOf(t)
  const kinds = ['burn', 'write', 'read', 'switch', 'grow', 'threads', 'launch'] as const
  for (const kind of kinds) {
    execFileSync('gcc', ['-O1', '-pthread', '-o', join(folder, kind), LOAD])
  }
  const env = {
    RIDEALONG_TARGET_CONTAINER: 'app',
    RIDEALONG_OPTION_RATE: String(RATE),
    RIDEALONG_MODE: 'container',
    RIDEALONG_RESTART_POLICY: 'Never',
  }
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], env)
  const vitals = await run('vitals', [observer('vitals')], env)
  const all = kinds.map(
    (kind) => `${folder}/${kind} ${kind} ${folder}/${kind}.data >${folder}/${kind}.out &`,
  )
  const app = await run('app', ['sh', '-c', `${all.join(' ')} wait`])
  t.equal(await app.ended, 0)
  t.equal(await watching.ended, 0)
  t.equal(await vitals.ended, 0)
  const { data } = parse('perf-sysstat', watching.log())
  t.ok(data.length >= 50, `the log has ${data.length} intervals, at least 50`)
  for (const kind of kinds.slice(0, -1)) {
    const usage: Usage = JSON.parse(readFileSync(join(folder, `${kind}.out`), 'utf8'))
    for (const log of [watching.log(), vitals.log()]) {
      const seen = summaryOf(log).find((row) => row.program === kind) ?? {}
      const metric = /"metricName":"([^"]*)"/.exec(log)?.[1]
      compare(t, `${metric}, ${kind}`, seen, usage)
    }
  }
  hasLaunched(t, watching.log(), JSON.parse(readFileSync(join(folder, 'launch.out'), 'utf8')))
})

/** The CPU seconds of a launcher and of its children, as the launcher prints them. */
interface LaunchUsage {
  readonly cpu: number
  readonly children: number
}

/**
 * Compares the log with the usage of a launcher. The rows of its observed children name the same
 * program as its own rows. The values of the children that were not observed are `unaccounted`.
 */
function hasLaunched(t: Test, log: string, { cpu, children }: LaunchUsage): void {
  const launcher = summaryOf(log).find((row) => row.program === 'launch') ?? {}
  const found = Number(launcher.cpu_seconds) + Number(launcher.unaccounted_cpu_seconds)
  t.ok(Number(launcher.unaccounted_cpu_seconds) > 0, 'some children ended before the next scan')
  const truth = cpu + children
  t.ok(isNear(found, truth, 0.03, 0.08), `launch: CPU seconds ${found}, kernel: ${truth}`)
  const bytes = Number(launcher.bytes_written) + Number(launcher.unaccounted_bytes_written)
  t.ok(isNear(bytes, 40 << 20, 0.03, 0), `launch: bytes written ${bytes}, truth: ${40 << 20}`)
  const rows = parse('perf-sysstat', log).data.flatMap((timepoint) => timepoint.io_statistics ?? [])
  const first = rows.find((row) => row.program === 'launch')?.pid
  const ofLauncher = rows.filter((row) => row.pid === first)
  // The launcher itself writes only the line with its usage. Each of 40 children writes 1 MiB.
  t.ok(
    ofLauncher.every(({ kb_wr_s }) => typeof kb_wr_s === 'number' && kb_wr_s < 100),
    `the launcher itself wrote ${ofLauncher.map(({ kb_wr_s }) => kb_wr_s)} KiB/s`,
  )
}

/**
 * The possible error of the kernel's peak RSS in KiB. The kernel has one counter for file pages and
 * one for anonymous pages, and each processor can keep up to 32 pages of a counter to itself
 * (lib/percpu_counter.c).
 */
const COARSE = 2 * 128 * availableParallelism()

function compare(t: Tap, kind: string, seen: Row, usage: Usage): void {
  const pairs = [
    ['CPU seconds', seen.cpu_seconds, usage.cpu, 0.03],
    ['peak RSS', seen.peak_rss_kib, usage.rss, COARSE],
    ['bytes read', seen.bytes_read, usage.read, 65536],
    ['bytes written', seen.bytes_written, usage.written, 65536],
    ['context switches', seen.context_switches, usage.switches, 40],
  ] as const
  for (const [what, number, truth, least] of pairs) {
    t.ok(isNear(Number(number), truth, 0.03, least), `${kind}: ${what} ${number}, kernel: ${truth}`)
  }
}

const BURN = 'python3 -c "import time; [0 for _ in iter(lambda: time.process_time() < 3, False)]"'

const LAUNCHERS: readonly (readonly [string, NodeJS.ProcessEnv, string])[] = [
  // As in a batch script: mpirun ends with the last rank, and the script continues.
  ['the launcher ends with the child', {}, 'sh -c "$BURN & $BURN & wait; exit 0"; times; sleep 2'],
  // As in a wrapper around each rank: the wrapper is not observed, and ends after the rank.
  [
    'the waiting process is not observed',
    { RIDEALONG_TARGET_COMMAND: '^(top|python3)$' },
    `cp /bin/dash /dev/shm/top; /dev/shm/top -c 'sh -c "$BURN; sleep 2"; times; sleep 2'`,
  ],
  [
    'the waiting process was observed before it executed another program',
    { RIDEALONG_TARGET_COMMAND: '^(top|python3)$' },
    'cp /bin/dash /dev/shm/top; ' +
      `/dev/shm/top -c '(sleep 2; exec sh -c "$BURN; sleep 2"); times; sleep 2'`,
  ],
]

for (const [where, env, script] of LAUNCHERS) {
  t.test(
    `the time of a launched child is counted once if ${where}`,
    { ...observerTests(), timeout: 800_000 },
    async (t) => {
      const { run } = await podOf(t)
      const watching = await run('perf-sysstat', [observer('perf-sysstat')], {
        RIDEALONG_TARGET_CONTAINER: 'app',
        RIDEALONG_OPTION_RATE: '1',
        RIDEALONG_MODE: 'container',
        RIDEALONG_RESTART_POLICY: 'Never',
        ...env,
      })
      const app = await run('app', ['sh', '-c', script], { BURN })
      t.equal(await app.ended, 0)
      t.equal(await watching.ended, 0)
      const parts = [...(app.log().trimEnd().split('\n').at(-1) ?? '').matchAll(/0m([\d.]+)s/g)]
      const truth = parts.reduce((sum, [, seconds]) => sum + Number(seconds), 0)
      t.ok(truth >= 3, `the kernel counted ${truth} CPU seconds, at least 3`)
      const [whole] = summaryOf(watching.log())
      const found = Number(whole?.cpu_seconds) + Number(whole?.unaccounted_cpu_seconds)
      t.ok(isNear(found, truth, 0.03, 0.05), `observer: ${found} CPU seconds, kernel: ${truth}`)
      const programs = summaryOf(watching.log()).map(({ program }) => String(program))
      const wanted = new RegExp(env.RIDEALONG_TARGET_COMMAND ?? '')
      t.ok(
        programs.slice(1).every((program) => wanted.test(program)),
        `each program in the summary matches: ${programs}`,
      )
    },
  )
}

type Tap = { ok(value: boolean, message: string): unknown }

/**
 * Reports whether a value differs from the truth by at most a share of the truth, or by at most
 * `least`.
 */
function isNear(number: number, truth: number, share: number, least: number): boolean {
  return Math.abs(number - truth) <= Math.max(truth * share, least)
}
