import { execFileSync, spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import manifest from '../../../package.json' with { type: 'json' }
import { openFolder, podOf, until } from '../pod.ts'
import { observerTests, onPath, parse, timepointsIn } from '../prerequisites.ts'

// Tests of the program for linux/arm64, which is built as for the image, on an emulated processor
// (qemu-user).

const CRATE = fileURLToPath(new URL('../../../observer', import.meta.url))
const QEMU = onPath('qemu-aarch64')
const TOOLS = ['qemu-aarch64', 'aarch64-linux-gnu-gcc']
const missing = TOOLS.filter((program) => onPath(program) === program)
const needed = `this test needs ${TOOLS.join(' and ')}; not installed: ${missing}`
const skip = observerTests().skip || (missing.length > 0 ? needed : false)
const options = { skip, timeout: 900_000 }

let program = ''
t.before(() => {
  if (skip !== false) return
  const folder = openFolder('ridealong-arm64-')
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  execFileSync('sh', ['build.sh', 'install', 'arm64', folder], { cwd: CRATE, stdio: 'inherit' })
  program = join(folder, 'ridealong-observer')
})

const USAGE = /^Usage: vitals \| perf-sysstat \| io-sysstat \| pressure \| .* \|$/m

t.test('the program for arm64 prints its version and its help', options, async (t) => {
  const say = (word: string) => spawnSync(QEMU, [program, word], { encoding: 'utf8' })
  t.equal(say('--version').stdout, `${manifest.version}\n`)
  t.match(say('--help').stdout, USAGE)
  t.equal(say('x').status, 2)
})

t.test('perf-sysstat on arm64 prints rows and ends on SIGTERM', options, async (t) => {
  const { run } = await podOf(t)
  await run('app', ['python3', '-c', 'open("/dev/shm/x", "w")\nwhile True: pass'])
  const env = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '1' }
  const watching = await run('perf-sysstat', [QEMU, program, 'perf-sysstat'], env)
  await until(watching, () => timepointsIn(watching.log()) >= 3)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const { data, metadata } = parse('perf-sysstat', watching.log())
  t.equal(data.length, timepointsIn(watching.log()))
  t.equal(metadata.counters, 'all')
  const last = data.at(-1)
  const share = Number(last?.cpu_statistics_task?.[0]?.percent_cpu)
  t.ok(
    share > 0 && share < 110,
    `the loop used ${share} % of a core, more than 0 % and less than 110 %`,
  )
  t.ok(Number(last?.pagefaults_task?.[0]?.rss) > 1000)
  t.match(last?.policy, [{ program: 'python3', policy: 'NORMAL' }])
  t.match(last?.kernel_tables, [{ threads: '1', fd_nr: /^\d+$/ }])
})

t.test(
  'perf-sysstat on arm64 reads the counters of a target with another user',
  options,
  async (t) => {
    const { run } = await podOf(t)
    await run('app', ['sleep', '600'], {}, { user: 1234, group: 5678 })
    const env = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '1' }
    const root = { keeps: ['chown', 'dac_override', 'fowner', 'setuid', 'setgid'] }
    const watching = await run('perf-sysstat', [QEMU, program, 'perf-sysstat'], env, root)
    await until(watching, () => timepointsIn(watching.log()) >= 1)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    t.equal(parse('perf-sysstat', watching.log()).metadata.counters, 'all')
  },
)

t.test('io-sysstat on arm64 prints documents', options, async (t) => {
  const { run } = await podOf(t)
  await run('app', ['sleep', '600'])
  const env = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '1' }
  const watching = await run('io-sysstat', [QEMU, program, 'io-sysstat'], env)
  await until(watching, () => timepointsIn(watching.log()) >= 2)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.equal(parse('io-sysstat', watching.log()).data.length, timepointsIn(watching.log()))
})
