import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { LiveExport } from '../../../src/core/catalog.ts'
import { freePort } from '../../free-ports.ts'
import { until as untilTrue } from '../../until.ts'
import { noticesOf, rowsOf } from '../json-rows.ts'
import { observer, type Pod, podOf, type Running, until } from '../pod.ts'
import { observerTests, summaryOf, timepointsIn } from '../prerequisites.ts'
import { ACCEPT, type Answer, exportTo, type Point, type Receiver, receive } from './receiver.ts'

// The live export of the built-in metrics. A failing receiver must not delay or remove rows of the
// log.

const options = observerTests()
const PLACE = {
  RIDEALONG_TARGET_CONTAINER: 'app',
  RIDEALONG_OWNER: 'Job/lammps',
  POD_NAME: 'lammps-3-abcde',
  POD_NAMESPACE: 'hpc',
  NODE_NAME: 'node-1',
  JOB_COMPLETION_INDEX: '3',
}
const BUSY = ['sh', '-c', 'sleep 600 & while :; do :; done']

/** Starts an observer with the live export. */
async function watch(
  run: Pod['run'],
  metric: Parameters<typeof observer>[0],
  settings: LiveExport,
  rate = '0.3',
): Promise<Running> {
  return run(metric, [observer(metric)], {
    ...PLACE,
    RIDEALONG_OPTION_RATE: rate,
    ...(await exportTo(metric, settings)),
  })
}

/** Waits until another push has arrived. The next one begins an interval later. */
async function nextPush({ requests }: Receiver): Promise<void> {
  const before = requests()
  await untilTrue('there is another push', () => requests() > before)
}

/**
 * Ends an observer with SIGTERM, waits until its last push has arrived, and returns its code. No
 * regular push may arrive during the call, because the next push counts as the last one. Call this
 * just after a regular push, or set a long interval.
 */
async function endWithPush(watching: Running, { requests }: Receiver): Promise<number | string> {
  const before = requests()
  watching.signal('SIGTERM')
  const code = await watching.ended
  // On a busy machine, the observer may end before the receiver has read the last push.
  await untilTrue('the last push arrives', () => requests() > before)
  return code
}

/** The last value of a metric. */
function last(points: readonly Point[], name: string, attributes: object = {}): Point | undefined {
  const wanted = Object.entries(attributes)
  return points.findLast((point) => {
    return point.name === name && wanted.every(([key, value]) => point.attributes[key] === value)
  })
}

/** Waits until a receiver has got a metric. */
async function arrival({ points }: Receiver, name: string): Promise<void> {
  await untilTrue(`${name} arrives`, () => last(points(), name) !== undefined)
}

/** The resource of the pod, see `podOf`. */
const RESOURCE = {
  'service.name': 'lammps',
  'service.namespace': 'hpc',
  'service.instance.id': 'hpc.lammps-3-abcde.perf-sysstat',
  'k8s.namespace.name': 'hpc',
  'k8s.pod.name': 'lammps-3-abcde',
  'k8s.pod.uid': 'uid-of-the-pod',
  'k8s.node.name': 'node-1',
  'k8s.job.name': 'lammps',
}

t.test('the receiver gets the values of the pod, and finally the summary', options, async (t) => {
  const { run } = await podOf(t)
  const receiver = await receive(t)
  // A push may take as long as the interval. On a busy machine, an answer may take a second.
  const settings = { endpoint: receiver.endpoint, interval: 3 }
  const watching = await watch(run, 'perf-sysstat', settings)
  await run('app', BUSY)
  await arrival(receiver, 'process.cpu.time')
  await arrival(receiver, 'process.memory.usage')
  // When the next push arrives, the pusher has already reported the previous push.
  await nextPush(receiver)
  t.equal(await endWithPush(watching, receiver), 0, watching.log())
  const points = receiver.points()
  const [whole, ...rest] = summaryOf(watching.log())
  const sh = rest.find(({ program }) => program === 'sh')
  const program = { 'process.executable.name': 'sh', 'k8s.container.name': 'app' }
  const index = { 'ridealong.pod.index': '3' }
  t.match(last(points, 'process.cpu.time', program), {
    unit: 's',
    kind: 'counter',
    value: sh?.cpu_seconds,
    attributes: { ...program, ...index },
    resource: RESOURCE,
  })
  const written = { ...program, 'disk.io.direction': 'write' }
  t.match(last(points, 'process.disk.io', written), { unit: 'By', value: sh?.bytes_written })
  const memory = last(points, 'process.memory.usage', program)
  t.match(memory, { unit: 'By', kind: 'gauge', attributes: { 'process.pid': undefined } })
  t.equal(Number(memory?.value) % 1024, 0)
  t.match(last(points, 'ridealong.perf_sysstat.process.percent_cpu', program), { unit: '%' })
  t.ok(points.every(({ start, kind }) => (start === undefined) === (kind === 'gauge')))
  t.ok(points.every(({ start = 0n, time }) => start <= time))
  t.equal(receiver.headers()['content-type'], 'application/json')
  t.match(whole, { metric: 'perf-sysstat' })
  t.match(rest.at(-1), { live_export: `${receiver.endpoint}/v1/metrics`, failed_pushes: 0 })
  t.ok(Number(rest.at(-1)?.pushes) > 0)
})

t.test('with granularity "process", each process has its own values', options, async (t) => {
  const { run } = await podOf(t)
  const receiver = await receive(t)
  const settings = { endpoint: receiver.endpoint, interval: 3, granularity: 'process' } as const
  const watching = await watch(run, 'pressure', settings)
  await run('app', BUSY)
  await arrival(receiver, 'ridealong.pressure.process.cpu_time')
  t.equal(await endWithPush(watching, receiver), 0, watching.log())
  const rows = rowsOf(watching, 'process')
  for (const program of ['sh', 'sleep']) {
    const { pid, cpu_time } = rows.findLast((row) => row.program === program) ?? {}
    const found = last(receiver.points(), 'ridealong.pressure.process.cpu_time', {
      'process.pid': pid,
    })
    t.match(found, { kind: 'counter', unit: 's', value: cpu_time })
    t.equal(found?.attributes['process.executable.name'], program)
  }
  const [, ...programs] = summaryOf(watching.log())
  const sh = programs.find(({ program }) => program === 'sh')
  const cpu = last(receiver.points(), 'process.cpu.time', { 'process.executable.name': 'sh' })
  t.match(cpu, { kind: 'counter', unit: 's', value: sh?.cpu_seconds }, 'the summary too')
})

t.test('io-sysstat exports the devices of the node', options, async (t) => {
  const { run } = await podOf(t)
  const receiver = await receive(t)
  const watching = await watch(run, 'io-sysstat', { endpoint: receiver.endpoint, interval: 3 }, '1')
  await run('app', ['sleep', '600'])
  await until(watching, () => timepointsIn(watching.log()) > 1)
  await nextPush(receiver)
  t.equal(await endWithPush(watching, receiver), 0, watching.log())
  const devices = [...watching.log().matchAll(/"disk_device": "([^"]+)".*"util": ([\d.]+)/g)]
  for (const [, device] of devices) {
    const values = devices.filter(([, name]) => name === device).map(([, , util]) => Number(util))
    const found = last(receiver.points(), 'ridealong.io_sysstat.device.util', {
      'system.device': device,
    })
    t.equal(found?.value, values.at(-1), `the use of ${device}`)
  }
  t.equal(last(receiver.points(), 'process.cpu.time'), undefined)
})

const TALK = fileURLToPath(new URL('../network/talk.py', import.meta.url))

t.test('network exports the traffic of a program, summed over its peers', options, async (t) => {
  const { run } = await podOf(t)
  const receiver = await receive(t)
  const port = await freePort()
  const server = await run('other', ['python3', TALK, 'serve', `${port}`, '2'])
  await until(server, /listening/)
  const watching = await watch(run, 'network', { endpoint: receiver.endpoint, interval: 3 })
  const peers = ['127.0.0.1', '127.0.0.2'].flatMap((host) => [host, port, 1, 1000, 2000])
  const app = await run('app', ['python3', TALK, 'keep', ...peers.map(String)])
  await until(app, /exchanged/)
  const program = { 'process.executable.name': 'talk.py', 'k8s.container.name': 'app' }
  const sent = { ...program, 'network.io.direction': 'transmit' }
  const received = { ...program, 'network.io.direction': 'receive' }
  const traffic = (attributes: object) => last(receiver.points(), 'process.network.io', attributes)
  await untilTrue('both peers are counted', () => Number(traffic(received)?.value) === 4000)
  t.equal(await endWithPush(watching, receiver), 0, watching.log())
  t.match(traffic(sent), { kind: 'counter', unit: 'By', value: 2032 })
  t.equal(traffic(sent)?.attributes['network.peer.address'], undefined)
  const lo = last(receiver.points(), 'ridealong.network.interface.rx_bytes')
  t.match(lo?.attributes, { 'network.interface.name': /./, 'ridealong.scope': 'pod' })
})

interface Fault {
  readonly answer?: Answer
  readonly notice: RegExp
  /**
   * The seconds between pushes, and the most seconds that a push may take. On a busy machine, an
   * answer may take a second.
   */
  readonly interval?: number
}

/** The ways in which a receiver fails, and the notice in the log. */
const FAULTS: Readonly<Record<string, Fault>> = {
  absent: { notice: /connecting to the receiver: Connection refused/ },
  hanging: { answer: () => {}, notice: /no answer in time/, interval: 1 },
  rejecting: {
    answer: (_, response) => response.writeHead(400).end('not like this'),
    notice: /the receiver answered 400: not like this/,
  },
  broken: {
    answer: (_, response) => response.writeHead(500).end(),
    notice: /the receiver answered 500/,
  },
  busy: {
    answer: (_, response) => response.writeHead(429, { 'Retry-After': '1' }).end(),
    notice: /the receiver answered 429/,
  },
  slow: { answer: (_, response) => dribble(response), notice: /no answer in time/, interval: 1 },
}

/** Answers a byte each second. */
function dribble({ socket }: ServerResponseLike): void {
  const text = 'HTTP/1.1 200 OK\r\n\r\n'
  let sent = 0
  const timer = setInterval(() => {
    if (socket?.writable) socket.write(text[sent++] ?? '')
    else clearInterval(timer)
  }, 1000)
  timer.unref()
}

type ServerResponseLike = Parameters<Answer>[1]

/** The endpoint of a receiver that does not run. */
const absent = async () => `http://127.0.0.1:${await freePort()}/otlp`

const SAMPLES = 20

/** Starts an observer that takes twenty samples and then waits for SIGTERM. */
async function start({ run }: Pod, env: NodeJS.ProcessEnv): Promise<Running> {
  return run('pressure', [observer('pressure')], {
    ...PLACE,
    RIDEALONG_OPTION_RATE: '0.5',
    RIDEALONG_OPTION_COMPLETIONS: String(SAMPLES),
    ...env,
  })
}

/** The seconds between the first and the last sample. */
function duration(running: Running): number {
  const times = rowsOf(running, 'process').map(({ time }) => Date.parse(String(time)))
  return (Math.max(...times) - Math.min(...times)) / 1000
}

t.test('a failing receiver does not delay rows', { ...options, timeout: 300_000 }, async (t) => {
  const pod = await podOf(t)
  await pod.run('app', ['sleep', '600'])
  const faults = Object.entries(FAULTS).map(async ([name, { answer, notice, interval = 3 }]) => {
    const endpoint = answer === undefined ? await absent() : (await receive(t, answer)).endpoint
    const env = await exportTo('pressure', { endpoint, interval })
    return { name, notice, running: await start(pod, env) }
  })
  const [without, ...others] = await Promise.all([start(pod, {}), ...faults])
  const all = [without, ...others.map(({ running }) => running)]
  await Promise.all(all.map((running) => until(running, /SUMMARY END/)))
  for (const running of all) running.signal('SIGTERM')
  for (const running of all) t.equal(await running.ended, 0)
  const samples = (running: Running) =>
    new Set(rowsOf(running, 'process').map(({ time }) => time)).size
  t.equal(samples(without), SAMPLES)
  for (const { name, notice, running } of others) {
    t.equal(samples(running), SAMPLES, name)
    t.ok(duration(running) < 1.6 * duration(without), `${name}: the samples are not delayed`)
    const failures = noticesOf(running).filter((text) => text.includes('live export'))
    t.match(failures, [notice], name)
    t.equal(failures.length, 1, `${name}: one notice`)
    t.ok(Number(summaryOf(running.log()).at(-1)?.failed_pushes) > 1, name)
  }
  t.notMatch(without.log(), /live.export/)
})

t.test('a receiver that comes late and restarts gets the latest values', options, async (t) => {
  const { run } = await podOf(t)
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}/otlp`
  const watching = await watch(run, 'perf-sysstat', { endpoint, interval: 1 })
  await run('app', BUSY)
  await until(watching, /the live export to \S+ failed/)
  const early = await receive(t, ACCEPT, port)
  await arrival(early, 'process.cpu.time')
  await early.close()
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) > before + 4)
  const late = await receive(t, ACCEPT, port)
  await arrival(late, 'process.cpu.time')
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const [value = 0, earlier = 0] = [late, early].map(({ points }) => {
    return last(points(), 'process.cpu.time', { 'process.executable.name': 'sh' })?.value
  })
  t.ok(value > earlier, 'the counter goes on')
  const starts = [early, late].flatMap(({ points }) => points().flatMap(({ start }) => start ?? []))
  t.equal(new Set(starts).size, 1, 'the counters have one start')
})

t.test('after SIGTERM there is one more push, whatever the interval', options, async (t) => {
  const { run } = await podOf(t)
  const receiver = await receive(t)
  const watching = await watch(run, 'perf-sysstat', { endpoint: receiver.endpoint, interval: 3600 })
  await run('app', BUSY)
  await until(watching, () => timepointsIn(watching.log()) > 2)
  const requests = receiver.requests()
  t.equal(await endWithPush(watching, receiver), 0)
  t.equal(receiver.requests(), requests + 1)
  const sh = summaryOf(watching.log()).find(({ program }) => program === 'sh')
  const found = last(receiver.points(), 'process.cpu.time', { 'process.executable.name': 'sh' })
  t.equal(found?.value, sh?.cpu_seconds)
})

t.test('an observer ends although the last push has no answer', options, async (t) => {
  const { run } = await podOf(t)
  const receiver = await receive(t, () => {})
  const watching = await watch(run, 'perf-sysstat', { endpoint: receiver.endpoint, interval: 3600 })
  await run('app', BUSY)
  await until(watching, () => timepointsIn(watching.log()) > 2)
  const pusher = childOf(watching.pid)
  // Another pusher, which no observer ends, waits until its own time limit.
  const env = await exportTo('perf-sysstat', { endpoint: receiver.endpoint, interval: 3600 })
  const alone = spawn(observer('push'), [], { env, stdio: ['pipe', 'ignore', 'inherit'] })
  const givesUp = once(alone, 'exit').then(() => 'the pusher alone')
  alone.stdin.end('SUMMARY START\n{"program":"a","cpu_seconds":1}\nSUMMARY END\n')
  watching.signal('SIGTERM')
  const first = await Promise.race([watching.ended.then(() => 'the observer'), givesUp])
  t.equal(first, 'the observer')
  t.equal(await watching.ended, 0)
  t.equal(isRunning(pusher), false, 'the pusher has ended too')
  await givesUp
  t.match(watching.log(), /SUMMARY END\n$/)
})

t.test('a pusher that does not read does not delay the log', options, async (t) => {
  const { run } = await podOf(t)
  const receiver = await receive(t)
  const watching = await watch(
    run,
    'perf-sysstat',
    { endpoint: receiver.endpoint, interval: 1 },
    '0.1',
  )
  await run('app', ['sh', '-c', 'for i in $(seq 64); do sleep 600 & done; wait'])
  await until(watching, () => timepointsIn(watching.log()) > 0)
  process.kill(childOf(watching.pid), 'SIGSTOP')
  const before = watching.log().length
  // More bytes than the pipe and the observer's buffer for the pusher can hold.
  await until(watching, () => watching.log().length > before + 2 ** 21)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(watching.log(), /SUMMARY END\n$/)
  t.ok(Number(summaryOf(watching.log()).at(-1)?.dropped_lines) > 0)
})

t.test('a killed pusher does not end the log', options, async (t) => {
  const { run } = await podOf(t)
  const receiver = await receive(t)
  const watching = await watch(run, 'perf-sysstat', { endpoint: receiver.endpoint, interval: 1 })
  await run('app', BUSY)
  await until(watching, () => timepointsIn(watching.log()) > 0)
  process.kill(childOf(watching.pid), 'SIGKILL')
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) > before + 2)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const notices = watching.log().match(/^ridealong: the live export to .*the pusher has ended.*$/gm)
  t.equal(notices?.length, 1, watching.log().slice(0, 3000))
})

t.test('an observer and its pusher take at most 5 MiB', options, async (t) => {
  const { run } = await podOf(t)
  const receiver = await receive(t)
  const watching = await watch(
    run,
    'perf-sysstat',
    { endpoint: receiver.endpoint, interval: 1, granularity: 'process' },
    '0.5',
  )
  await run('app', ['sh', '-c', 'for i in $(seq 64); do sleep 600 & done; wait'])
  await arrival(receiver, 'process.thread.count')
  const pushes = receiver.requests()
  await untilTrue('three more pushes', () => receiver.requests() > pushes + 3)
  const [own, pushers] = [watching.pid, childOf(watching.pid)].map(memoryKib)
  t.ok((own ?? 0) + (pushers ?? 0) < 5120, `${own} KiB and ${pushers} KiB`)
})

t.test('invalid settings turn the live export off, and the log goes on', options, async (t) => {
  const { run } = await podOf(t)
  await run('app', BUSY)
  const watching = await watch(run, 'perf-sysstat', { endpoint: 'https://collector:4318' })
  await until(watching, () => timepointsIn(watching.log()) > 1)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(watching.log(), /^ridealong: the live export is off: .*it must be http:\/\/HOST:PORT/m)
})

/** The only child of a process. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim())
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/**
 * The memory of a process in KiB, with a proportional share of the pages that it shares (Pss). The
 * observer and its pusher run the same program, and the memory limit counts shared pages only once.
 */
function memoryKib(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
}
