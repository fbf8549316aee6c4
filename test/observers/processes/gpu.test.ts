import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { mismatchesIn, noticesOf, rowsOf } from '../json-rows.ts'
import { type Identity, observer, type Pod, podOf, type Running, until } from '../pod.ts'
import { observerTests, summaryOf } from '../prerequisites.ts'

// No GPU is at hand. A process opens an ordinary file below /dev/dri, and a folder with recorded
// texts of drivers is mounted in place of its folder fdinfo, where the observer reads.

const options = observerTests()
const RECORDINGS = new URL('../../../observer/crates/linux/tests/fdinfo/', import.meta.url)
const recorded = (name: string) => readFileSync(new URL(`${name}.txt`, RECORDINGS), 'utf8')

/** A pod with an observer of gpu. */
interface GpuPod {
  readonly pod: Pod
  readonly watching: Running
}

async function gpuPod(t: Test, as: Identity = {}, rate = '0.3'): Promise<GpuPod> {
  const pod = await podOf(t)
  const settings = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: rate }
  const watching = await pod.run('gpu', [observer('gpu')], settings, as)
  await until(watching, /waiting for/)
  return { pod, watching }
}

/** Starts a process that has opened files: the first under the number 3, and so on. */
function opening(pod: Pod, paths: readonly string[], env: NodeJS.ProcessEnv = {}, as?: Identity) {
  const opened = paths.map((path, at) => `: >>${path}; exec ${at + 3}<${path}; `).join('')
  const command = `mkdir -p /dev/dri; ${opened}exec sleep infinity`
  return pod.run('app', ['sh', '-c', command], env, as)
}

/** Mounts a folder with the texts of open files in place of that of a process. */
function describe(t: Test, { watching }: GpuPod, process: Running, texts: Record<number, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-fdinfo-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const write = (changed: Record<number, string>) => {
    for (const [file, text] of Object.entries(changed)) writeFileSync(join(folder, file), text)
  }
  write(texts)
  const status = readFileSync(`/proc/${process.pid}/status`, 'utf8')
  const inner = Number(/^NSpid:.*\s(\d+)$/m.exec(status)?.[1])
  const words = ['-t', String(watching.pid), '-m', 'mount', '--bind', folder]
  execFileSync('nsenter', [...words, `/proc/${inner}/fdinfo`])
  return { inner, write }
}

const CARD = '/dev/dri/renderD128'
const AMDGPU = recorded('amdgpu')

async function end(t: Test, { watching }: GpuPod): Promise<void> {
  watching.signal('SIGTERM')
  await watching.ended
  t.strictSame(mismatchesIn(watching, 'gpu'), [])
}

t.test('the rows of amdgpu have the numbers of its text', options, async (t) => {
  const own = await gpuPod(t)
  const rank = await opening(own.pod, [CARD, CARD], { RANK: '5' })
  const child = await opening(own.pod, [CARD])
  // The second number and the other process have the same client.
  const { inner, write } = describe(t, own, rank, { 3: AMDGPU, 4: AMDGPU })
  await until(own.watching, () => rowsOf(own.watching, 'engine').length > 0)
  const shared = describe(t, own, child, { 3: AMDGPU })
  write({ 3: AMDGPU.replace('46464671 ns', '2546464671 ns') })
  const busiest = () => rowsOf(own.watching, 'engine').at(-1)?.engine_busy
  await until(own.watching, () => busiest() === 2.546464)
  await end(t, own)
  const first = rowsOf(own.watching, 'process')[0]
  t.match(first, { program: 'sleep', pid: inner, world_rank: 5, device: '0000:04:00.0' })
  t.match(first, { driver: 'amdgpu', clients: 1, node_memory: 2392 * 1024 })
  t.equal(first?.gpu_memory, 44_564 * 1024)
  t.match(rowsOf(own.watching, 'engine')[0], { engine: 'compute', engines: 1, pid: inner })
  t.equal(rowsOf(own.watching, 'engine')[0]?.engine_busy, 0.046464)
  const users = new Set(rowsOf(own.watching, 'process').map(({ pid }) => pid))
  t.strictSame([...users], [inner], `process ${shared.inner} has no client of its own`)
  t.match(rowsOf(own.watching, 'device')[0], { device: '0000:04:00.0', driver: 'amdgpu' })
  t.strictSame(noticesOf(own.watching), [])
  t.match(summaryOf(own.watching.log()), [{ metric: 'gpu', devices: 1 }])
})

t.test('the last readings of processes have rows', options, async (t) => {
  const own = await gpuPod(t, {}, '3600')
  const [ends, stays] = [await opening(own.pod, [CARD]), await opening(own.pod, [CARD])]
  const ended = describe(t, own, ends, { 3: AMDGPU })
  const stayed = describe(t, own, stays, { 3: recorded('i915') })
  await until(own.watching, /COLLECTION START/)
  ended.write({ 3: AMDGPU.replace('46464671 ns', '2546464671 ns') })
  // The notice says that the processes that were found before this one have been read again.
  await opening(own.pod, ['/dev/kfd'])
  await until(own.watching, /has \/dev\/kfd open/)
  ends.signal('SIGKILL')
  const rowsOfProcess = (section: string, pid: number) =>
    rowsOf(own.watching, section).filter((row) => row.pid === pid)
  const busy = () => rowsOfProcess('engine', ended.inner).at(-1)?.engine_busy
  await until(own.watching, () => busy() === 2.546464)
  await end(t, own)
  for (const { inner } of [ended, stayed])
    for (const section of ['process', 'engine'])
      t.ok(rowsOfProcess(section, inner).length > 0, `process ${inner} has a row in ${section}`)
})

t.test('the cycles of xe become seconds', options, async (t) => {
  const own = await gpuPod(t)
  const text = recorded('xe')
  const { write } = describe(t, own, await opening(own.pod, [CARD]), { 3: text })
  const of = (engine: string) =>
    rowsOf(own.watching, 'engine').filter((row) => row.engine === engine)
  await until(own.watching, () => of('ccs').length > 1)
  // Of each second since the last reading, both engines were busy for half a second.
  const later = text.replace('drm-cycles-ccs:\t326', 'drm-cycles-ccs:\t1000326')
  write({ 3: later.replaceAll('24339816184', '24340816184') })
  await until(own.watching, () => Number(of('ccs').at(-1)?.engine_busy) > 0)
  await end(t, own)
  t.match(of('ccs')[0], { engines: 2, engine_busy: 0 })
  const [seconds = 0] = of('ccs')
    .map((row) => Number(row.engine_busy))
    .filter((it) => it > 0)
  const [from, to] = [of('ccs')[0], of('ccs').at(-1)].map((row) => Date.parse(String(row?.time)))
  t.ok(seconds < (Number(to) - Number(from)) / 1000, `the engines were busy for ${seconds} s`)
  t.ok(of('bcs').every((row) => row.engine_busy === 0))
  t.equal(rowsOf(own.watching, 'process')[0]?.gpu_memory, (65_072_580 + 63_753_540) * 1024)
})

t.test('a process without a GPU has no rows, and a notice says why', options, async (t) => {
  const own = await gpuPod(t)
  await opening(own.pod, [])
  await until(own.watching, /COLLECTION START/)
  await end(t, own)
  for (const section of ['device', 'process', 'engine'])
    t.strictSame(rowsOf(own.watching, section), [])
  t.match(own.watching.log(), /no GPU has rows: no process had one open/)
  t.match(summaryOf(own.watching.log()), [{ metric: 'gpu', devices: 0 }])
})

t.test('notices say of which drivers there are no rows', options, async (t) => {
  const own = await gpuPod(t)
  const rank = await opening(own.pod, [CARD, '/dev/nvidia0', '/dev/kfd'])
  describe(t, own, rank, { 3: 'pos:\t0\ndrm-driver:\tast\n' })
  await until(own.watching, /driver ast/)
  await end(t, own)
  t.match(noticesOf(own.watching).toSorted(), [
    /^the GPUs of NVIDIA have no rows: .* in \/proc; the metric gpu-nvidia reads their state$/,
    /^the GPUs of the driver ast have no rows: it does not describe their use$/,
    /^the section engine may lack work of compute kernels: a process has \/dev\/kfd open/,
  ])
  t.strictSame(rowsOf(own.watching, 'process'), [])
})

t.test('a process of another user may not be read', options, async (t) => {
  const own = await gpuPod(t, { user: 1000, group: 1000, drops: true })
  describe(t, own, await opening(own.pod, [CARD]), { 3: AMDGPU })
  await until(own.watching, /cannot be read/)
  await end(t, own)
  t.match(noticesOf(own.watching), [/^the open files of a process cannot be read: /])
  t.strictSame(rowsOf(own.watching, 'process'), [])
})
