import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { run as ridealong } from '../../cli/command.ts'
import { catalog, EXAMPLES, observed, rowsOf } from '../../docs/example-observer.ts'
import { textOf } from '../../docs/pages.ts'
import { openFolder } from '../../observers/pod.ts'
import { onPath } from '../../observers/prerequisites.ts'
import { ALLOWED, containerIn, rideWith } from '../../src/core/tools/build.ts'
import { until } from '../../until.ts'
import { asyncProfiler, SHA256, URL_OF_JAR } from './async-profiler.ts'

// The example docs/examples/tools/jvm-profile.yaml, with real JVMs and the real async-profiler: its
// installer, the variables that the webhook adds, and its observer. Its image is not built.

const NAME = 'jvm-profile'
const SETTING = '-Dhot.setting=kept'
const pod = rideWith(
  NAME,
  {
    containers: [
      { name: 'app', image: 'app', env: [{ name: 'JAVA_TOOL_OPTIONS', value: SETTING }] },
    ],
  },
  {},
  { catalog, labels: ALLOWED },
)

t.test('the options of the pod are kept, and the document describes the image', async (t) => {
  t.strictSame(
    containerIn(pod, 'app').env?.map(({ name, value }) => [name, value?.split('=')[0]]),
    [
      ['JAVA_TOOL_OPTIONS', '-Dhot.setting'],
      [
        'JAVA_TOOL_OPTIONS',
        `$(JAVA_TOOL_OPTIONS) -agentpath:/opt/ridealong/${NAME}/libasyncProfiler.so`,
      ],
    ],
  )
  const document = textOf('docs/metrics/own-tool.md')
  for (const part of [
    `(../examples/tools/${NAME}.yaml)`,
    `ADD --checksum=sha256:${SHA256} ${URL_OF_JAR}`,
  ])
    t.ok(document.replaceAll(/ \\\n +/g, ' ').includes(part), part)
})

/** Why the tool is not run, or the folder with its libraries. */
async function prepare(): Promise<{ reason: string } | { folder: string }> {
  const missing = ['java', 'javac', 'jar'].filter((program) => onPath(program) === program)
  if (process.platform !== 'linux' || missing.length > 0)
    return { reason: 'jvm-profile is run only on Linux with a JDK (java, javac, jar)' }
  return asyncProfiler()
}

/** A volume with the tool, as the installer leaves it, and a compiled program. */
interface Place {
  readonly volume: string
  readonly results: string
  /** The value of JAVA_TOOL_OPTIONS in the target. */
  readonly options: string
}

/** Runs the installer, and resolves the variable of the patched pod as the kubelet does. */
function install(t: Test, files: string): Place {
  // The observer has the folder of `t.testdir`.
  const volume = openFolder('ridealong-jvm-')
  t.teardown(() => rmSync(volume, { recursive: true }))
  mkdirSync(join(volume, 'classes'))
  const { command = [], args = [] } = containerIn(pod, `${NAME}-install`)
  const env = { ...process.env, RIDEALONG_TOOL_VOLUME: volume, FILES: files }
  execFileSync(command[0] ?? '', [...command.slice(1), ...args], { env })
  const source = fileURLToPath(new URL('Hot.java', import.meta.url))
  execFileSync('javac', ['-d', join(volume, 'classes'), source])
  const { env: variables = [], volumeMounts = [] } = containerIn(pod, 'app')
  const joined = variables.reduce(
    (earlier, { value = '' }) => value.replaceAll('$(JAVA_TOOL_OPTIONS)', earlier),
    '',
  )
  // The longer path first: it ends with the other one.
  const mounts = volumeMounts.toSorted((a, b) => b.mountPath.length - a.mountPath.length)
  const options = mounts.reduce(
    (value, { mountPath, subPath = '' }) => value.replaceAll(mountPath, join(volume, subPath)),
    joined,
  )
  return { volume, results: join(volume, 'results'), options }
}

/** Starts the program with these options of the JVM, and these arguments. */
function startJvm({ volume }: Place, options: string, ...words: readonly string[]): ChildProcess {
  return spawn('java', ['-cp', join(volume, 'classes'), 'Hot', ...words], {
    env: { PATH: process.env.PATH, JAVA_TOOL_OPTIONS: options },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

interface Ended {
  readonly pid: number
  readonly code: unknown
  readonly out: string
  readonly err: string
}

async function endOf(child: ChildProcess, see: (out: string) => void = () => {}): Promise<Ended> {
  const { pid = 0, stdout, stderr } = child
  let [out, err] = ['', '']
  stdout?.setEncoding('utf8').on('data', (part) => {
    out += part
    see(out)
  })
  stderr?.setEncoding('utf8').on('data', (part) => {
    err += part
  })
  const [code, signal] = await once(child, 'close')
  return { pid, code: code ?? signal, out, err }
}

/** Returns the results of a JVM until now. */
function resultsOf({ results }: Place, pid = 0): string {
  const own = readdirSync(results).filter((name) => name.startsWith(`${pid}-`))
  return own.map((name) => readFileSync(join(results, name), 'utf8')).join('')
}

/** Starts a JVM that does not end, and kills it after it has computed and a condition is true. */
async function killed(place: Place, options: string, isDue: (pid?: number) => boolean) {
  const child = startJvm(place, options, '0.5', 'wait')
  let seen = ''
  const ended = endOf(child, (out) => {
    seen = out
  })
  await until('the JVM is to be killed', () => seen.includes('computed') && isDue(child.pid))
  child.kill('SIGKILL')
  return ended
}

/** Checks that the programs behave as without the tool, apart from one line. */
function checkUnchanged(t: Test, plain: Ended, { options }: Place, profiled: readonly Ended[]) {
  t.match(plain, { code: 3, out: 'computed with kept\n' })
  for (const { code, out, err } of profiled) {
    t.strictSame({ code, out }, { code: plain.code, out: plain.out })
    t.equal(err, plain.err.replace(SETTING, options), 'only the line of the JVM is longer')
  }
}

const prepared = await prepare()
const skip = 'reason' in prepared ? prepared.reason : false
const files = 'folder' in prepared ? prepared.folder : ''

t.test(
  'the observer has rows of JVMs that ended, and of one that was killed',
  { skip },
  async (t) => {
    const place = install(t, files)
    const { options, results } = place
    t.match(options, ',loop=30s,')
    const often = options.replace(',loop=30s,', ',loop=1s,')
    const [plain, one, two, late, early] = await Promise.all([
      endOf(startJvm(place, SETTING, '0.1')),
      endOf(startJvm(place, options, '0.8')),
      endOf(startJvm(place, options, '0.8')),
      killed(place, often, (pid) => resultsOf(place, pid).includes('Hot.hot')),
      killed(place, options, () => true),
    ])
    checkUnchanged(t, plain, place, [one, two])
    t.strictSame([late.code, early.code], ['SIGKILL', 'SIGKILL'])

    const env = { RESULTS: results, RIDEALONG_TARGET_CONTAINER: 'app' }
    const log = await observed(t, NAME, { env })
    t.strictSame(readdirSync(results).sort(), ['sums', 'taken'], 'the files are deleted')
    const rows = rowsOf(t, NAME, log)
    const processes = rows.filter(({ kind }) => kind === 'process')
    t.strictSame(new Set(processes.map(({ pid }) => pid)), new Set([one.pid, two.pid, late.pid]))
    for (const { pid } of [one, two]) {
      const [first] = rows.filter((row) => row.kind === 'function' && row.pid === pid)
      const whole = processes.find((row) => row.pid === pid)
      t.match(first, { container: 'app', program: 'JVM', function: 'Hot.hot' })
      const share = Number(first?.samples_self) / Number(whole?.samples)
      const seconds = Number(whole?.cpu_seconds)
      t.ok(share > 0.5 && share < 0.85, `its share is ${share}`)
      t.ok(seconds > 0.5 && seconds < 4, `${seconds} s were sampled`)
    }

    const path = join(place.volume, 'log')
    writeFileSync(path, log)
    const convert = await ridealong([
      ...['convert', path, '--catalog', EXAMPLES, '--format', 'collapsed'],
    ])
    t.match(convert.out, /;JVM;(.*;)?Hot\.main;Hot\.hot \d+\n/, 'convert knows the stacks')
  },
)

/** Returns the text of a file of async-profiler with many stacks. */
function manyStacks(count: number): string {
  const method = `${'some.package.'.repeat(20)}Class.method`
  return Array.from({ length: count }, (_, at) => `main;${method}${at} 1\n`).join('')
}

t.test('the observer limits its rows, and says so', async (t) => {
  const files = {
    '7-20260101-000000-0.collapsed': `main;some "words\\ 3\n${manyStacks(10_500)}`,
    '7-20260101-000030-1.collapsed': 'main;some "words\\ 4\nmain;cut 1',
    '8-20260101-000000-0.collapsed': `${'deep;'.repeat(2000)}end 2\n`,
  }
  const log = await observed(t, NAME, { files })
  t.ok(log.length < 8 * 2 ** 20)
  t.match(log, '"notice":"the methods or stacks with the fewest samples have no row of their own')
  const rows = rowsOf(t, NAME, log)
  const stacks = rows.filter(({ kind }) => kind === 'stack')
  t.match(
    stacks.find(({ stack }) => String(stack).startsWith('main;some')),
    { pid: 7, stack: 'main;some "words\\', samples: 7 },
  )
  const ofSeven = stacks.filter(({ pid }) => pid === 7)
  const sum = ofSeven.reduce((total, { samples }) => total + Number(samples), 0)
  t.equal(sum, 10_507, 'the samples without the last line, which was not written to its end')
  t.ok(ofSeven.some(({ stack }) => stack === '(other)'))
  const deep = String(stacks.find(({ pid }) => pid === 8)?.stack)
  t.ok(deep.length <= 8192 && deep.endsWith('deep;end'))
})

t.test('if the results take much space, the observer reads them early', async (t) => {
  const files = { '7-20260101-000000-0.collapsed': manyStacks(100) }
  const env = { RIDEALONG_TOOL_SIZE_LIMIT: '16384' }
  const log = await observed(t, NAME, { files, env, until: '"notice":"files were read before' })
  const rows = rowsOf(t, NAME, log)
  t.match(
    rows.filter(({ kind }) => kind === 'process'),
    [{ pid: 7, samples: 100 }],
  )
})
