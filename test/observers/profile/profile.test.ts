import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { run } from '../../cli/command.ts'
import { collectFiles } from '../../tools/raw-files.ts'
import { mismatchesIn, noticesOf, rowsOf } from '../json-rows.ts'
import { type Identity, observer, openFolder, podOf, type Running, until } from '../pod.ts'
import { onPath, type Row, summaryOf } from '../prerequisites.ts'
import { profileTests, tool } from './tool.ts'

const options = profileTests()
const NATIVE = { RIDEALONG_TARGET_CONTAINER: 'app' }

/** A pod with the volume of cpu-profile, and the observer. */
interface ProfiledPod {
  /** The folder of the results. */
  readonly results: string
  readonly watching: Running
  /** Starts a program with the loader in the target container. */
  start(argv: readonly string[], as?: Identity): Promise<Running>
  /**
   * Runs a program to its end. If it runs for two seconds, the observer finds it, and writes its
   * rows a second after its end or when the observer ends.
   */
  profile(argv: readonly string[]): Promise<number | string>
  /** Starts another observer in the pod. */
  observe(): Promise<Running>
  /** Keeps the container of the target running until the end: the kubelet does not restart it. */
  keep(): Promise<void>
  /** Ends the observer. */
  end(): Promise<void>
}

async function profiledPod(t: Test, env: NodeJS.ProcessEnv = {}): Promise<ProfiledPod> {
  const pod = await podOf(t)
  const volume = openFolder('ridealong-volume-')
  t.teardown(() => rmSync(volume, { recursive: true, force: true }))
  const folders = { RIDEALONG_TOOL_SOURCE: tool().source, RIDEALONG_TOOL_VOLUME: volume }
  const installer = await pod.run('cpu-profile-install', [observer('install')], folders)
  t.equal(await installer.ended, 0)
  const results = join(volume, 'results')
  const settings = { ...NATIVE, RIDEALONG_RESULTS: results, ...env }
  const observe = async () => {
    const observing = await pod.run('cpu-profile', [observer('cpu-profile')], settings)
    await until(observing, /waiting for/)
    return observing
  }
  const watching = await observe()
  const preloaded = [
    onPath('env'),
    `LD_PRELOAD=${volume}/tool/loader.so`,
    `CPUPROFILE=${results}/cpu`,
    'CPUPROFILE_FREQUENCY=500',
  ]
  const start = (argv: readonly string[], as?: Identity) =>
    pod.run('app', [...preloaded, ...argv], {}, as)
  const kept: Running[] = []
  return {
    results,
    watching,
    observe,
    start,
    profile: async (argv) => (await start(argv)).ended,
    keep: async () => {
      kept.push(await pod.run('app', [onPath('sleep'), 'infinity']))
    },
    end: async () => {
      for (const one of kept) one.signal('SIGKILL')
      await Promise.all(kept.map(({ ended }) => ended))
      watching.signal('SIGTERM')
      await watching.ended
    },
  }
}

const compiled = new Map<string, string>()

/** Compiles the program guest.c or symbols.c, once. */
function compile(name: 'guest' | 'symbols'): string {
  const known = compiled.get(name)
  if (known !== undefined) return known
  const folder = openFolder(`ridealong-${name}-`)
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, name)
  const source = fileURLToPath(new URL(`${name}.c`, import.meta.url))
  execFileSync('gcc', ['-O1', '-pthread', '-o', path, source])
  compiled.set(name, path)
  return path
}

function sum(rows: readonly Row[], column: string): number {
  return rows.reduce((whole, row) => whole + Number(row[column] ?? 0), 0)
}

/** Returns the names of the profiles in a folder. */
const profilesIn = (results: string) =>
  readdirSync(results).filter((name) => name.startsWith('cpu_'))

/** Checks that the rows of functions and of stacks add up to the row of their process. */
function checkSums(t: Test, watching: Running): void {
  for (const row of rowsOf(watching, 'process')) {
    const { pid, samples, cpu_seconds, frequency } = row
    const rowsIn = (section: string) => rowsOf(watching, section).filter((one) => one.pid === pid)
    t.equal(sum(rowsIn('function'), 'samples_self'), samples)
    t.equal(sum(rowsIn('stack'), 'samples'), samples)
    for (const [section, column] of [
      ['stack', 'cpu_seconds'],
      ['function', 'self_seconds'],
    ] as const) {
      const seconds = sum(rowsIn(section), column)
      t.ok(Math.abs(seconds - Number(cpu_seconds)) < 1e-6, `${seconds} s in rows of ${section}`)
    }
    // The kernel sends fewer signals than ticks are due.
    t.ok(Number(cpu_seconds) >= Number(samples) / Number(frequency))
  }
}

/** Returns the samples of each function: in itself, and in total. */
function samplesOf(watching: Running): ReadonlyMap<unknown, readonly unknown[]> {
  return new Map(
    rowsOf(watching, 'function').map((row) => [
      row.function,
      [row.samples_self, row.samples_total],
    ]),
  )
}

/** Returns the same numbers from google-pprof, for a program without libraries of its own. */
function pprof(program: string, file: string): ReadonlyMap<string, readonly number[]> {
  const words = ['--text', program, file]
  const text = execFileSync('google-pprof', words, { encoding: 'utf8', stdio: 'pipe' })
  const lines = text.trim().split('\n').slice(1)
  return new Map(
    lines.map((line) => {
      const [own, , , total, , name = ''] = line.trim().split(/\s+/)
      return [name, [Number(own), Number(total)]]
    }),
  )
}

t.test('functions have the same samples as google-pprof counts', options, async (t) => {
  const { results, watching, profile, end } = await profiledPod(t)
  t.equal(await profile([tool().work, 'ratio', '2500']), 3)
  await end()
  t.strictSame(mismatchesIn(watching, 'cpu-profile'), [])
  t.strictSame(noticesOf(watching), [])
  const [row] = rowsOf(watching, 'process')
  t.match(row, { container: 'app', program: 'work', profile: 'complete', frequency: 500 })
  t.strictSame(profilesIn(results), [`cpu_${row?.pid}`])
  checkSums(t, watching)
  const expected = pprof(tool().work, join(results, `cpu_${row?.pid}`))
  const found = samplesOf(watching)
  for (const name of ['heavy', 'light', 'deep', 'main']) {
    t.strictSame(found.get(name), expected.get(name), name)
  }
  const [heavy = 0] = expected.get('heavy') ?? []
  const [light = 0] = expected.get('light') ?? []
  t.ok(heavy > light && light > 0, `${heavy} and ${light} samples`)
  t.equal(rowsOf(watching, 'function')[0]?.function, 'heavy')
  t.equal(rowsOf(watching, 'function')[0]?.library, 'work')
  const stacks = rowsOf(watching, 'stack').map(({ stack }) => String(stack))
  t.ok(stacks.some((stack) => stack.endsWith(`;main;${'deep;'.repeat(6)}light`)))
  const [whole, ...programs] = summaryOf(watching.log())
  const sums = { profiles: 1, incomplete: 0, missing: 0, samples: row?.samples }
  t.match(whole, { metric: 'cpu-profile', ...sums })
  t.match(programs, [{ program: 'work', container: 'app', ...sums }])
})

t.test('a profile has the processor time of the process after its start', options, async (t) => {
  const { watching, start, end } = await profiledPod(t)
  const runs = [
    { threads: '1', frequency: '50' },
    { threads: '1', frequency: '1000' },
    { threads: '2', frequency: '200' },
    { threads: '2', frequency: '1000' },
    { threads: '8', frequency: '100' },
    { threads: '8', frequency: '1000' },
  ]
  const used = await Promise.all(
    runs.map(async ({ threads, frequency }) => {
      const argv = [tool().work, 'burn', '5000', threads]
      const app = await start([onPath('env'), `CPUPROFILE_FREQUENCY=${frequency}`, ...argv])
      t.equal(await app.ended, 0)
      return Number(/used (\S+)/.exec(app.log())?.[1])
    }),
  )
  await until(watching, () => rowsOf(watching, 'process').length === runs.length)
  await end()
  const rows = rowsOf(watching, 'process')
  t.strictSame(noticesOf(watching), [])
  for (const [index, { threads, frequency }] of runs.entries()) {
    // Runs are told apart by their frequency and by their processor time, which all differ.
    const truth = (used[index] ?? 0) - 0.5
    const ofFrequency = rows.filter((row) => row.frequency === Number(frequency))
    const near = ofFrequency.some(({ cpu_seconds: seconds }) => {
      return Math.abs(Number(seconds) / truth - 1) < 0.03
    })
    t.ok(near, `${threads} threads at ${frequency} Hz: ${truth} s, ${JSON.stringify(ofFrequency)}`)
  }
  t.ok(rows.every(({ profile }) => profile === 'complete'))
  checkSums(t, watching)
})

t.test('a profile that lacks processor time is partial, with the reason', options, async (t) => {
  const { watching, keep, profile, end } = await profiledPod(t)
  await keep()
  t.equal(await profile([compile('guest'), 'block']), 15)
  t.equal(await profile([compile('guest'), 'restrict', 'late', '1.5']), 13)
  await end()
  t.strictSame(mismatchesIn(watching, 'cpu-profile'), [])
  const rows = rowsOf(watching, 'process')
  t.strictSame(
    rows.map((row) => row.profile),
    ['partial', 'partial'],
  )
  // The program blocks the signal for 2.5 of 3.3 seconds, or restricts its system calls after 0.8.
  for (const row of rows) t.ok(Number(row.cpu_seconds) < 1, `${row.cpu_seconds} s`)
  t.match(noticesOf(watching), [
    /^the profile of process \d+ \(guest\) has 0\.\d s of 2\.\d s of CPU time: all threads block/,
    /\(guest\) has 0\.\d s of CPU time: the program restricts its system calls/,
  ])
  t.match(summaryOf(watching.log())[0], { profiles: 2, partial: 2, incomplete: 0, missing: 0 })
  checkSums(t, watching)
})

t.test(
  'processes with the same id in namespaces of their own are told apart',
  options,
  async (t) => {
    const { results, watching, start, end } = await profiledPod(t)
    const { work } = tool()
    // In both namespaces, the program has the id 2.
    const script = (task: string) => [
      ...['unshare', '--pid', '--fork', '--kill-child', 'sh', '-c', `"$0" ${task}; exit $?`],
      work,
    ]
    const runs = await Promise.all([
      start([...script('ratio 2500')]),
      start([...script('burn 4000 2')]),
      start([work, 'wait', '10']),
    ])
    t.equal(await runs[0].ended, 3)
    t.equal(await runs[1].ended, 0)
    runs[2].signal('SIGKILL')
    await runs[2].ended
    await end()
    t.strictSame(profilesIn(results).sort(), ['cpu_2', 'cpu_2.1'])
    t.strictSame(noticesOf(watching), [])
    const rows = rowsOf(watching, 'process')
    t.equal(rows.length, 2)
    t.equal(new Set(rows.map(({ pid }) => pid)).size, 2)
    t.ok(
      rows.every(({ program, pid, profile }) => {
        return program === 'work' && Number(pid) > 2 && profile === 'complete'
      }),
    )
    checkSums(t, watching)
  },
)

t.test('a profile with more time than is possible is not valid', options, async (t) => {
  const { results, watching, profile, end } = await profiledPod(t)
  const words = (list: readonly bigint[]) => Buffer.from(BigUint64Array.from(list).buffer)
  const header = (period: bigint) => words([0n, 3n, 0n, period, 0n])
  const record = words([(1n << 32n) - 1n, 1n, 4096n])
  const trailer = words([0n, 1n, 0n])
  const ending = (text: string) => Buffer.concat([trailer, Buffer.from(text)])
  // Sums that do not fit in 64 bits, and ticks that do not.
  const many = Buffer.concat([header(1_000_000n), ...Array(10_000).fill(record), ending('')])
  writeFileSync(join(results, 'cpu_9001'), many)
  const ticks = `\nridealong: ticks=${2n ** 64n - 1n} due=1\n`
  const one = words([1n, 1n, 4096n])
  writeFileSync(join(results, 'cpu_9002'), Buffer.concat([header(1000n), one, ending(ticks)]))
  t.equal(await profile([tool().work, 'ratio', '2500']), 3)
  await end()
  const rows = rowsOf(watching, 'process')
  t.strictSame(
    rows.filter(({ profile }) => profile === 'missing').map(({ cpu_seconds }) => cpu_seconds),
    [null, null],
  )
  const why = /^process 900\d \(\) has no profile: its profile is not valid$/
  t.match(noticesOf(watching), [why, why])
  const seconds = Number(summaryOf(watching.log())[0]?.cpu_seconds)
  t.ok(seconds < 10, `${seconds} s`)
})

t.test('a killed process has no profile', options, async (t) => {
  const { watching, start, end } = await profiledPod(t)
  const app = await start([tool().work, 'wait', '1500'])
  await until(app, /waiting/)
  // Two scans later, the observer knows the processor time of the process.
  await new Promise((resolve) => setTimeout(resolve, 8000))
  app.signal('SIGKILL')
  await app.ended
  await until(watching, () => rowsOf(watching, 'process').length > 0)
  await end()
  const row = { program: 'work', samples: null, cpu_seconds: null, profile: 'missing' }
  t.match(rowsOf(watching, 'process'), [row])
  t.match(noticesOf(watching), [/^process \d+ \(work\) has no profile: it was killed/])
  t.strictSame(mismatchesIn(watching, 'cpu-profile'), [])
  t.match(summaryOf(watching.log()), [{ missing: 1 }, { program: 'work', missing: 1 }])
})

t.test('functions of an incomplete profile are named', options, async (t) => {
  const { results, watching, keep, profile, start, end } = await profiledPod(t)
  await keep()
  // Without randomization, both processes have the same addresses.
  const fixed = [onPath('setarch'), '-R', tool().work]
  t.equal(await profile([...fixed, 'ratio', '2500']), 3)
  await until(watching, () => rowsOf(watching, 'process').length > 0)
  const [first] = rowsOf(watching, 'process')
  const whole = readFileSync(join(results, `cpu_${first?.pid}`))
  const app = await start([...fixed, 'wait', '10'])
  await until(app, /waiting/)
  await new Promise((resolve) => setTimeout(resolve, 8000))
  const pid = /^NSpid:.*\s(\d+)$/m.exec(readFileSync(`/proc/${app.pid}/status`, 'utf8'))?.[1]
  // The trailer, which three words mark, and the text of the mappings are missing.
  const cut = whole.lastIndexOf(Buffer.from(`${'00'.repeat(8)}0100000000000000`, 'hex'))
  writeFileSync(join(results, `cpu_${pid}`), whole.subarray(0, cut))
  app.signal('SIGKILL')
  await until(watching, () => rowsOf(watching, 'process').length > 1)
  await end()
  t.match(rowsOf(watching, 'process')[1], { pid: Number(pid), profile: 'incomplete' })
  t.equal(rowsOf(watching, 'process')[1]?.samples, first?.samples)
  checkSums(t, watching)
  const names = rowsOf(watching, 'function').filter((row) => row.pid === Number(pid))
  t.equal(names[0]?.function, 'heavy')
  t.match(noticesOf(watching), [/^the profile of process \d+ \(work\) is not complete/])
  t.match(summaryOf(watching.log())[0], { profiles: 2, incomplete: 1 })
})

t.test('programs without a profile end with their own exit codes', options, async (t) => {
  const { results, watching, start, end } = await profiledPod(t)
  const { work, workStatic, workWithMusl } = tool()
  const ends = async (argv: readonly string[], as?: Identity) => (await start(argv, as)).ended
  t.equal(await ends([workStatic, 'ratio', '10']), 3)
  t.equal(await ends([workWithMusl, 'ratio', '10']), 3)
  const fill = 'mount -t tmpfs -o size=4k none "$0" && head -c 4096 /dev/zero >"$0/full"; exec "$@"'
  // The process runs until several scans have seen that it must have samples.
  t.equal(await ends(['sh', '-c', fill, results, work, 'ratio', '5000']), 3)
  chmodSync(results, 0o755)
  t.equal(await ends([work, 'ratio', '10'], { user: 1234, group: 1234 }), 3)
  await until(watching, () => noticesOf(watching).length > 1)
  await end()
  const musl = /^a process is not profiled: \d+ work-with-musl: .*libridealong-unwind\.so\.8/
  t.match(
    noticesOf(watching).find((notice) => musl.test(notice)),
    musl,
  )
  t.strictSame(readdirSync(results).sort(), ['loader.log', 'target'])
  t.match(rowsOf(watching, 'process'), [{ program: 'work', profile: 'missing' }])
})

t.test('short processes are profiled, too', options, async (t) => {
  const { watching, start, end } = await profiledPod(t)
  // The process ends before any scan, so its program is known only from its profile.
  const app = await start(['sh', '-c', '"$0" ratio 600; exit 8', tool().work])
  t.equal(await app.ended, 8)
  await end()
  const row = { container: 'app', program: 'work', profile: 'complete' }
  t.match(rowsOf(watching, 'process'), [row])
  checkSums(t, watching)
})

t.test('a program on a volume that is gone at the end is named', options, async (t) => {
  const { results, watching, profile, end } = await profiledPod(t)
  const folder = mkdtempSync(join(results, '../programs-'))
  const script = `mount -t tmpfs none ${folder} && cp "$0" ${folder}/work-on-volume &&
    exec ${folder}/work-on-volume ratio 2500`
  t.equal(await profile(['sh', '-c', script, tool().work]), 3)
  await end()
  t.equal(rowsOf(watching, 'function')[0]?.function, 'heavy')
  t.equal(rowsOf(watching, 'function')[0]?.library, 'work-on-volume')
})

t.test('other files of the folder do no harm', options, async (t) => {
  const { results, watching, profile, end } = await profiledPod(t)
  execFileSync('mkfifo', [join(results, 'cpu_100')])
  symlinkSync('/dev/zero', join(results, 'cpu_101'))
  mkdirSync(join(results, 'cpu_102'))
  writeFileSync(join(results, 'cpu_103'), 'text')
  writeFileSync(join(results, 'cpu_0104'), '')
  writeFileSync(join(results, 'cpu_105'), Buffer.alloc(1 << 20, 1))
  t.equal(await profile([tool().work, 'ratio']), 3)
  await end()
  t.strictSame(rowsOf(watching, 'process').length, 1)
  const expected = ['cpu_103', 'cpu_105'].map(
    (name) => `the file ${name} is not a profile of gperftools`,
  )
  t.strictSame([...noticesOf(watching)].sort(), expected)
})

t.test('files that use more than half of the size limit are emptied', options, async (t) => {
  const { results, watching, profile, end } = await profiledPod(t, {
    RIDEALONG_TOOL_SIZE_LIMIT: String(1 << 20),
  })
  t.equal(await profile([tool().work, 'ratio', '2500']), 3)
  await until(watching, () => rowsOf(watching, 'process').length > 0)
  const [row] = rowsOf(watching, 'process')
  const name = join(results, `cpu_${row?.pid}`)
  t.ok(statSync(name).size > 0)
  copyFileSync(name, join(results, 'cpu_9999'))
  truncateSync(join(results, 'cpu_9999'), 1 << 21)
  // A hole uses no space.
  await until(watching, () => rowsOf(watching, 'process').length > 1)
  t.ok(statSync(name).size > 0)
  writeFileSync(join(results, 'cpu_9998'), Buffer.alloc(600_000))
  await until(watching, () => noticesOf(watching).some((notice) => /emptied/.test(notice)))
  await end()
  t.equal(statSync(name).size, 0)
  t.equal(statSync(join(results, 'cpu_9998')).size, 0)
  const why = 'because they use more than half of the size limit of their volume'
  t.ok(noticesOf(watching).includes(`files of results were emptied, ${why}: 3`))
})

t.test('profiles of an earlier attempt are left out, and emptied first', options, async (t) => {
  const { results, watching, observe, start } = await profiledPod(t, {
    RIDEALONG_TOOL_SIZE_LIMIT: String(1 << 20),
  })
  const app = await start(['sh', '-c', '"$0" ratio 2500; exec sleep 1000', tool().work])
  await until(watching, () => rowsOf(watching, 'process').length > 0)
  watching.signal('SIGKILL')
  await watching.ended
  const [row] = rowsOf(watching, 'process')
  const name = join(results, `cpu_${row?.pid}`)
  const earlier = join(results, 'cpu_9998')
  const end = '\nridealong: ticks=1 due=1 written=5\n'
  writeFileSync(earlier, Buffer.concat([Buffer.alloc(600_000), Buffer.from(end)]))
  // The clock of the node was set forward since the profile was written.
  utimesSync(name, 0, 0)

  const again = await observe()
  // The notices of a sample follow its rows.
  await until(again, () => noticesOf(again).length > 1)
  t.match(rowsOf(again, 'process'), [{ pid: row?.pid, cpu_seconds: row?.cpu_seconds }])
  t.ok(statSync(name).size > 0)
  t.equal(statSync(earlier).size, 0)
  t.match(noticesOf(again), [
    'not counted in this log: 1 profile of an earlier attempt of this pod, which the volume has',
    /^files of results were emptied, .*: 1$/,
  ])
  again.signal('SIGTERM')
  await again.ended
  app.signal('SIGKILL')
})

t.test('cpu-profile counts the profiles of the last attempt', options, async (t) => {
  const { watching, profile, end } = await profiledPod(t)
  t.equal(await profile([tool().work, 'ratio', '2500']), 3)
  await until(watching, () => rowsOf(watching, 'process').length === 1)
  t.equal(await profile([tool().work, 'ratio', '1500']), 3)
  await end()
  t.strictSame(mismatchesIn(watching, 'cpu-profile'), [])
  const [first, second, ...others] = rowsOf(watching, 'process')
  t.strictSame([first?.attempt, second?.attempt, others], [undefined, 2, []])
  t.match(summaryOf(watching.log()), [
    { profiles: 1, samples: second?.samples, cpu_seconds: second?.cpu_seconds },
    { program: 'work', profiles: 1, samples: second?.samples },
  ])
  const report = JSON.parse((await run(['report', '-o', 'json', '-'], watching.log())).out)
  const [own] = report.profiles
  t.ok(Math.abs(own.seconds - Number(second?.cpu_seconds)) < 0.01, JSON.stringify(own))
})

t.test('google-pprof reads the raw file from the log as that of the volume', options, async (t) => {
  const { results, watching, keep, profile, end } = await profiledPod(t, {
    RIDEALONG_OPTION_ARTIFACTS: 'true',
  })
  await keep()
  t.equal(await profile([tool().work, 'ratio', '2500']), 3)
  t.equal(await profile([tool().work, 'ratio', '1500']), 3)
  await end()
  t.strictSame(noticesOf(watching), [])
  t.strictSame(mismatchesIn(watching, 'cpu-profile'), [])
  const { files, problems, path, read } = await collectFiles(t, watching.log(), 'cpu-profile')
  t.strictSame([files, problems], [2, []])
  const [row] = rowsOf(watching, 'process')
  const name = `cpu_${row?.pid}`
  t.ok(read(name).equals(readFileSync(join(results, name))))
  const samples = pprof(tool().work, path(name))
  t.strictSame(samples, pprof(tool().work, join(results, name)))
  const [heavy = 0] = samples.get('heavy') ?? []
  t.ok(heavy > 0, `${heavy} samples`)
  const first = watching.log().indexOf('"artifact":')
  t.ok(first > watching.log().lastIndexOf('"section":'), 'raw files follow the rows')
  t.match(watching.log(), `"artifact":{"file":"${name}","container":"app","program":"work","pid":`)
  t.match(watching.log().trimEnd(), /SUMMARY END$/)
})

t.test('without room in the log, a raw file is left out as a whole', options, async (t) => {
  const { results, watching, profile, end } = await profiledPod(t, {
    RIDEALONG_OPTION_ARTIFACTS: 'true',
    RIDEALONG_OPTION_MAX_LOG: '0.1',
  })
  t.equal(await profile([tool().work, 'ratio', '2500']), 3)
  await until(watching, () => rowsOf(watching, 'process').length > 0)
  const [row] = rowsOf(watching, 'process')
  // After the profile's own bytes, which stay valid, are some that cannot be compressed.
  appendFileSync(join(results, `cpu_${row?.pid}`), randomBytes(200_000))
  await end()
  const why = 'the log has no room; see the option max-log'
  t.strictSame(noticesOf(watching), [`raw files that are not in the log: cpu_${row?.pid}: ${why}`])
  const { files, problems } = await collectFiles(t, watching.log(), 'cpu-profile')
  t.equal(files, 0)
  t.strictSame(problems, [`raw file cpu_${row?.pid} is not in the log: ${why}`])
  t.notMatch(watching.log(), '"data":')
  t.ok(Buffer.byteLength(watching.log()) < 0.1 * 2 ** 20)
  t.ok(rowsOf(watching, 'function').length > 0)
  t.match(summaryOf(watching.log())[0], { profiles: 1 })
})

t.test('without the option, the log has no raw files', options, async (t) => {
  const { watching, profile, end } = await profiledPod(t)
  t.equal(await profile([tool().work, 'ratio', '1500']), 3)
  await end()
  t.equal(rowsOf(watching, 'process').length, 1)
  t.notMatch(watching.log(), '"artifact":')
})

t.test('without the folder of the results, the log says so', options, async (t) => {
  const { watching, end } = await profiledPod(t, { RIDEALONG_RESULTS: '/none' })
  await end()
  const notice = 'the folder of the results cannot be opened: No such file or directory'
  t.strictSame(noticesOf(watching), [notice])
  t.match(summaryOf(watching.log()), [{ metric: 'cpu-profile', profiles: 0 }])
})

t.test('in mode container, the observer ends after its target', options, async (t) => {
  const mode = { RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }
  const { watching, start } = await profiledPod(t, mode)
  const app = await start([tool().work, 'ratio', '2500'])
  t.equal(await app.ended, 3)
  t.equal(await watching.ended, 0)
  t.match(rowsOf(watching, 'process'), [{ program: 'work', profile: 'complete' }])
  checkSums(t, watching)
})

/** The symbols of symbols.c, in the order of its functions. */
const SYMBOLS = ['cvT_I', 'cvRT_I', 'cvOT_I', 'cvPT_I', 'cvSt1aI', 'cvS_I'].map(
  (part) => `_Z${part.repeat(26)}`,
)

for (const mode of ['native', 'container']) {
  t.test(
    `in mode ${mode}, SIGTERM ends an observer that names symbols of exponential time`,
    options,
    async (t) => {
      const env = { RIDEALONG_MODE: mode, RIDEALONG_RESTART_POLICY: 'Never' }
      const { watching, start } = await profiledPod(t, env)
      // The observer has a process to observe until the signal.
      await start([onPath('sleep'), '600'])
      const app = await start([compile('symbols'), '2500'])
      t.equal(await app.ended, 0)
      const began = performance.now()
      watching.signal('SIGTERM')
      t.equal(await watching.ended, 0)
      t.ok(performance.now() - began < 25_000, 'the observer ends within the grace period')
      t.match(rowsOf(watching, 'process'), [{ program: 'symbols', profile: 'complete' }])
      const names = new Set(rowsOf(watching, 'function').map((row) => row.function))
      const missing = SYMBOLS.filter((symbol) => !names.has(symbol))
      t.strictSame(missing, [], 'a symbol that is given up is the name')
      checkSums(t, watching)
    },
  )
}
