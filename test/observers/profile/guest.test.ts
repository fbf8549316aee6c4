import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openFolder } from '../pod.ts'
import { onPath } from '../prerequisites.ts'
import { profileTests, tool } from './tool.ts'

const options = profileTests()
const GUEST = fileURLToPath(new URL('guest.c', import.meta.url))

/** Compiles guest.c, and returns the path of the program. */
function compileGuest(t: Test, ...flags: readonly string[]): string {
  const folder = openFolder('ridealong-guest-')
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'guest')
  execFileSync('gcc', ['-O1', '-pthread', ...flags, '-o', path, GUEST])
  return path
}

interface Trace {
  /** The reasons in loader.log, each without the process. */
  readonly reasons: readonly string[]
  /** The last line of each profile, without its beginning. */
  readonly ends: readonly string[]
}

function traceIn(results: string): Trace {
  const log = join(results, 'loader.log')
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : []
  const profiles = readdirSync(results).filter((name) => name.startsWith('cpu_'))
  return {
    reasons: lines.map((line) => line.replace(/^\d+ \S+: /, '')),
    ends: profiles.map((name) => {
      const text = readFileSync(join(results, name), 'latin1')
      return /\nridealong: (.*)\n$/.exec(text)?.[1] ?? 'cut'
    }),
  }
}

/**
 * Runs a program with and without the profiler, checks that its output and its end are the same,
 * and returns what the profiler has left.
 */
function compare(t: Test, argv: readonly string[]): Trace {
  const results = openFolder('ridealong-results-')
  t.teardown(() => rmSync(results, { recursive: true, force: true }))
  const env = { PATH: process.env.PATH }
  const preloaded = {
    ...env,
    LD_PRELOAD: join(tool().source, 'loader.so'),
    CPUPROFILE: join(results, 'cpu'),
    CPUPROFILE_FREQUENCY: '500',
  }
  const [program = '', ...words] = argv
  const run = (env: NodeJS.ProcessEnv) => spawnSync(program, words, { env, encoding: 'utf8' })
  const parts = ({ status, signal, stdout, stderr }: SpawnSyncReturns<string>) => {
    return { status, signal, stdout, stderr }
  }
  const without = parts(run(env))
  t.strictSame(parts(run(preloaded)), without, argv.slice(1).join(' '))
  t.equal(without.signal, null)
  return traceIn(results)
}

/** Returns the numbers of ticks in the last line of a profile. */
function ticksIn(end: string | undefined): { readonly ticks: number; readonly due: number } {
  const [, ticks, due] = /^ticks=(\d+) due=(\d+)/.exec(end ?? '') ?? []
  return { ticks: Number(ticks), due: Number(due) }
}

const USES = 'the program uses the signal SIGURG itself'
const RESTRICTS = 'the program restricts its system calls (seccomp, no_new_privs)'
const COROUTINES = 'the program has coroutines with small stacks'

t.test('a program gets its own signals only, however it handles SIGURG', options, (t) => {
  const guest = compileGuest(t)
  for (const way of ['sigaction', 'signal', 'ignore']) {
    const { ends } = compare(t, [guest, 'handle', way])
    t.match(ends, [new RegExp(`^ticks=\\d+ due=\\d+ written=\\d+ stopped=${USES}$`)])
  }
  t.end()
})

t.test('a program that waits for signals gets none of the profiler', options, (t) => {
  const guest = compileGuest(t)
  for (const way of ['sigwait', 'sigwaitinfo', 'sigtimedwait', 'signalfd']) {
    t.strictSame(compare(t, [guest, 'wait-for', way]), { reasons: [USES], ends: [] })
  }
  t.end()
})

t.test('a tick ends no call that waits for other signals', options, (t) => {
  const { reasons, ends } = compare(t, [compileGuest(t), 'wait-for-others'])
  t.strictSame(reasons, [])
  const { ticks, due } = ticksIn(ends[0])
  t.ok(ticks > 50 && Math.abs(ticks - due) < 20, `${ends[0]}`)
  t.end()
})

t.test('a program sees neither the handler nor a stack of the profiler', options, (t) => {
  const { reasons, ends } = compare(t, [compileGuest(t), 'query'])
  t.strictSame(reasons, [])
  const { ticks, due } = ticksIn(ends[0])
  t.ok(ticks > 50 && Math.abs(ticks - due) < 20, `${ends[0]}`)
  t.end()
})

t.test('a program that is started with SIGURG ignored keeps ignoring it', options, (t) => {
  const script = 'trap "" URG; "$0" query; grep SigIgn /proc/self/status'
  const { reasons, ends } = compare(t, ['sh', '-c', script, compileGuest(t)])
  const reason = 'the program was started with SIGURG ignored'
  t.strictSame({ reasons, ends }, { reasons: [USES, reason, reason], ends: [] })
  t.end()
})

t.test('a filter of system calls does not end the program', options, (t) => {
  const guest = compileGuest(t)
  for (const [way, seconds] of [
    ['early', '0.2'],
    ['early', '1'],
    ['syscall', '1'],
  ]) {
    const trace = compare(t, [guest, 'restrict', way ?? '', seconds ?? ''])
    t.strictSame(trace, { reasons: [RESTRICTS], ends: [] })
  }
  const { ends } = compare(t, [guest, 'restrict', 'late', '1'])
  t.match(ends, [/^ticks=\d+ written=\d+ stopped=the program restricts its system calls/])
  t.end()
})

t.test('a coroutine with a small stack does not end the program', options, (t) => {
  const guest = compileGuest(t)
  for (const size of ['5120', '8192', '9216', '16384']) {
    t.strictSame(compare(t, [guest, 'coroutine', size]), { reasons: [COROUTINES], ends: [] })
  }
  const { ends } = compare(t, [guest, 'coroutine', '65536'])
  t.match(ends, [/^ticks=\d+ due=\d+ written=\d+$/])
  t.end()
})

t.test(
  'a handler runs on a stack of its own, and needs little of the stack of the program',
  options,
  (t) => {
    // Threads with the smallest stack that the C library allows; most of it is in use.
    const { ends } = compare(t, [compileGuest(t), 'thread'])
    t.match(ends, [/^ticks=\d+ due=\d+ written=\d+$/])
    t.end()
  },
)

t.test('a program with a small address space runs without the profiler', options, (t) => {
  const guest = compileGuest(t)
  for (const limit of ['9000', '12000', '14000', '500000']) {
    const script = `ulimit -v ${limit}; exec "$0" query`
    const { reasons, ends } = compare(t, ['sh', '-c', script, guest])
    t.match(reasons, [/^the program has a limit of its address space below 1 GiB/])
    t.strictSame(ends, [])
  }
  t.end()
})

t.test('a program with AddressSanitizer runs without the profiler', options, (t) => {
  const trace = compare(t, [compileGuest(t, '-fsanitize=address'), 'query'])
  t.strictSame(trace, { reasons: ['the program was built with AddressSanitizer'], ends: [] })
  t.end()
})

t.test('a program with ThreadSanitizer is as without the profiler', options, (t) => {
  compare(t, [compileGuest(t, '-fsanitize=thread'), 'query'])
  t.end()
})

t.test('signals that do not come from the timer are no samples', options, (t) => {
  const { ends } = compare(t, [compileGuest(t), 'forwarded'])
  const { ticks, due } = ticksIn(ends[0])
  t.ok(due < 200 && Math.abs(ticks - due) < 20, `${ends[0]}`)
  t.end()
})

t.test(
  'a child of a launcher that forwards all signals ends as without the profiler',
  options,
  (t) => {
    const programs = [compileGuest(t), compileGuest(t, '-static')]
    const launchers = [
      ['tini', '-s', '--'],
      ['dumb-init', '--'],
    ]
    for (const [launcher = '', ...words] of launchers) {
      if (onPath(launcher) !== launcher) compareLaunched(t, [onPath(launcher), ...words], programs)
    }
    t.end()
  },
)

/** Runs children of a launcher, which gets a thousand signals and so uses processor time. */
function compareLaunched(t: Test, launcher: readonly string[], children: readonly string[]): void {
  for (const child of children) {
    const send = 'i=0; while [ $i -lt 1000 ]; do kill -URG $!; i=$((i+1)); done; wait $!'
    const { ends } = compare(t, ['sh', '-c', `"$@" & ${send}`, 'sh', ...launcher, child, 'child'])
    t.strictSame(ends, [])
  }
}
