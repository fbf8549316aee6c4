import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { mismatchesIn, noticesOf, rowsOf } from '../../observers/json-rows.ts'
import { observer, openFolder, podOf, until } from '../../observers/pod.ts'
import { type Row, summaryOf } from '../../observers/prerequisites.ts'
import { CONTAINER, watchPod } from '../watched-pod.ts'
import {
  asFirstProcess,
  build,
  type Container,
  gpuTests,
  inContainer,
  source,
} from './container.ts'

const options = gpuTests()

/** A program that uses a GPU until it is ended, and one that does not. */
const USES = 'exec 3</dev/nvidia0; while sleep 0.2; do :; done'
const IDLES = 'while sleep 0.2; do :; done'

/** A pod with the observer, and a program of the target. */
async function gpuPod(t: Test, container: Omit<Container, 'results'>, command = USES) {
  build()
  const results = openFolder('ridealong-results-')
  t.teardown(() => rmSync(results, { recursive: true, force: true }))
  const settings = { ...CONTAINER, RIDEALONG_RESULTS: results }
  const how = { metric: 'gpu-nvidia', settings, tool: {}, env: {}, as: {} } as const
  const pod = await watchPod(await podOf(t), how)
  const app = await pod.start(...inContainer({ ...container, results }, ['sh', '-c', command]))
  return { ...pod, app }
}

type GpuPod = Awaited<ReturnType<typeof gpuPod>>

/** Ends the program, and waits until the observer has ended because of that. */
async function end(t: Test, { app, watching }: GpuPod): Promise<void> {
  app.signal('SIGKILL')
  t.equal(await watching.ended, 0)
  t.strictSame(mismatchesIn(watching, 'gpu-nvidia'), [])
}

const devicesIn = ({ watching }: GpuPod) => rowsOf(watching, 'device')
const READINGS = ['gpu_busy', 'memory_used', 'memory_total', 'power', 'energy', 'temperature']
const OTHERS = ['clock', 'throttle', 'power_limited', 'heat_limited']
/** Returns the names of the readings of a row. */
const readIn = (row: Row | undefined) =>
  [...READINGS, ...OTHERS].filter((name) => row?.[name] !== null)

/**
 * Returns the processes with several rows: the program, and the reader and its keeper if they had
 * rows, but not those of a moment, such as the commands that prepare the container.
 */
function stayingIn(rows: readonly Row[]): readonly string[] {
  const processes = Map.groupBy(rows, ({ program, pid }) => `${program} ${pid}`)
  return [...processes].flatMap(([name, own]) => (own.length > 1 ? [name] : []))
}

t.test('the rows have the numbers of NVML, and the reader has no rows', options, async (t) => {
  const pod = await gpuPod(t, { behavior: 'normal' })
  const settings = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '1' }
  const vitals = await pod.run('vitals', [observer('vitals')], settings)
  await until(pod.watching, () => devicesIn(pod).length >= 4)
  await until(vitals, () => stayingIn(rowsOf(vitals, 'process')).length > 0)
  vitals.signal('SIGTERM')
  await vitals.ended
  await end(t, pod)
  const [first, second] = devicesIn(pod)
  t.match(first, { device: 'GPU-5c1e6d8a-0000-0000-0000-000000000000', driver: 'nvidia' })
  t.match(first, { gpu_busy: 60, memory_used: 1 << 30, memory_total: 80 * 2 ** 30, energy: 5000 })
  t.match(first, { power: 312.5, temperature: 61, clock: 1980, throttle: 'sw_power_cap' })
  t.match(first, { power_limited: 1, heat_limited: 0 })
  t.match(second, { gpu_busy: 61, power: 312.501, temperature: 62, clock: 1979, energy: 5000.001 })
  t.match(second, { power_limited: 0, heat_limited: 1 })
  t.equal(second?.throttle, 'hw_slowdown,hw_thermal_slowdown')
  t.strictSame(noticesOf(pod.watching), [])
  t.match(summaryOf(pod.watching.log()), [{ metric: 'gpu-nvidia', devices: 2, processes: /./ }])
  const staying = stayingIn(rowsOf(vitals, 'process'))
  t.equal(staying.length, 1, `only the program has rows: ${staying}`)
})

t.test('readings that a driver or a GPU does not have are null', options, async (t) => {
  const behaviors = [
    [{ behavior: 'normal', library: 'old' }, ['energy', ...OTHERS.slice(1)]],
    // Each error number of NVML, in two looks at two devices.
    [{ behavior: 'readings -1' }, [...READINGS, ...OTHERS]],
    [{ behavior: 'memory 999' }, ['memory_used', 'memory_total']],
  ] as const
  await Promise.all(
    behaviors.map(async ([container, missing]) => {
      const pod = await gpuPod(t, container)
      await until(pod.watching, () => devicesIn(pod).length > 6)
      await end(t, pod)
      const expected = [...READINGS, ...OTHERS].filter((name) => !missing.some((it) => it === name))
      for (const row of devicesIn(pod)) t.strictSame(readIn(row), expected, container.behavior)
      t.strictSame(noticesOf(pod.watching), [])
    }),
  )
})

const WITHOUT_ROWS: readonly (readonly [Omit<Container, 'results'>, RegExp])[] = [
  [{ behavior: 'init 9' }, /NVML cannot begin: the driver is not loaded \(error 9 of NVML\)$/],
  [{ behavior: 'error 999' }, /NVML cannot begin: error 999 of NVML$/],
  [{ behavior: 'device 15' }, /^some GPUs .*: the GPU is lost \(error 15 of NVML\)$/],
  [
    { behavior: 'garbage' },
    /^some GPUs .*: NVML has counted 4294967295, of which 0 could be read$/,
  ],
  [{ behavior: 'crash' }, /signal 11 has ended their reader$/],
  [{ behavior: 'exit' }, /their reader has ended with the exit code 7$/],
  [{ behavior: 'hang' }, /a call of NVML did not return, so their reader was ended$/],
  [{ behavior: 'normal', library: 'none' }, /libnvidia-ml\.so\.1 cannot be loaded; .* utility /],
  [{ behavior: 'normal', tool: 'broken' }, /^the reader of the GPUs cannot be executed: No such/],
]

for (const half of [0, 1])
  t.test(`a notice says why there are no rows, part ${half + 1}`, options, async (t) => {
    const cases = WITHOUT_ROWS.filter((_, index) => index % 2 === half)
    await Promise.all(
      cases.map(async ([container, notice]) => {
        const pod = await gpuPod(t, container)
        await until(pod.watching, () => noticesOf(pod.watching).length > 0)
        await end(t, pod)
        t.match(noticesOf(pod.watching), [notice], notice.source)
        t.equal(noticesOf(pod.watching).length, 1)
        t.strictSame(devicesIn(pod), [])
      }),
    )
  })

t.test('GPUs that no process uses are left alone, and none is missed', options, async (t) => {
  const unused = await gpuPod(t, { behavior: 'crash' }, IDLES)
  const missing = await gpuPod(t, {}, IDLES)
  for (const pod of [unused, missing]) {
    await until(pod.watching, /COLLECTION START/)
    await end(t, pod)
    t.strictSame(devicesIn(pod), [])
  }
  t.match(noticesOf(unused.watching), [/no process had one open/])
  t.match(noticesOf(missing.watching), [/the container has no \/dev\/nvidiactl/])
})

t.test('the sanitizers find nothing in the reader', options, async (t) => {
  const folder = t.testdir()
  const reader = join(folder, 'reader')
  const checks = ['-fsanitize=address,undefined', '-fno-sanitize-recover=undefined']
  execFileSync('gcc', ['-g', ...checks, source('reader.c'), '-ldl', '-o', reader])
  const results = openFolder('ridealong-results-')
  t.teardown(() => rmSync(results, { recursive: true, force: true }))
  for (const behavior of ['normal', 'garbage']) {
    const file = openSync(join(folder, behavior), 'w+')
    const limited = ['sh', '-c', 'exec 4</dev/nvidia0; timeout 2 "$0" 4<&-', reader]
    const [command = '', ...others] = asFirstProcess({ behavior, results }, limited, false)
    const { stderr } = spawnSync(command, others, { stdio: ['ignore', 1, 'pipe', file] })
    closeSync(file)
    t.equal(String(stderr), '', behavior)
  }
})
