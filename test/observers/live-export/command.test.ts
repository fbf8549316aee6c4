import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { until } from '../../until.ts'
import { observer } from '../pod.ts'
import { observerTests } from '../prerequisites.ts'
import { exportTo, receive } from './receiver.ts'

// `push COMMAND` passes the log of a program on, and pushes its rows.

const options = observerTests()

// A push may take as long as the interval. On a busy machine, an answer may take a second, so the
// intervals of these tests are longer.

/** A metric that Ridealong does not know. */
const DOCUMENT = `apiVersion: ridealong.dev/v1alpha1
kind: Metric
metadata: {name: furnace}
spec:
  description: a furnace
  privilege: restricted
  rows:
    format: jsonl
    sections:
      - name: zone
        of: device
        description: zones
        columns:
          - {name: zone, type: text, key: true, meaning: the zone}
          - {name: heat, type: number, unit: Cel, behavior: gauge, meaning: heat}
          - {name: joules, type: number, unit: J, behavior: counter, meaning: energy}
  container:
    image: registry.example.org/furnace:1
    resources: {limits: {cpu: 10m, memory: 16Mi}}
`

/** Prints rows until SIGTERM, and leaves a process behind that keeps the pipe of the log open. */
const SCRIPT = `end() {
  echo '{"section":"zone","zone":"top","joules":9}'
  echo 'METRICS OPERATOR COLLECTION END'
  printf last
  exit 7
}
trap end TERM
echo 'METRICS OPERATOR COLLECTION START'
echo '{"section":"zone","zone":"top","heat":20.5,"joules":1}'
sleep 600 &
echo not a row
while :; do sleep 0.05; done
`

/** Runs a program until its output matches, then sends SIGTERM. */
async function run(words: readonly string[], env: NodeJS.ProcessEnv, isReady: () => boolean) {
  const [program = '', ...args] = words
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, ...env },
    detached: true,
  })
  const parts: Buffer[] = []
  const errors: Buffer[] = []
  child.stdout.on('data', (part) => parts.push(part))
  child.stderr.on('data', (part) => errors.push(part))
  const out = () => Buffer.concat(parts).toString()
  const exit = once(child, 'exit')
  await until('the program is ready', () => isReady() && out().includes('not a row'))
  child.kill('SIGTERM')
  const [code] = await exit
  await until('the log is complete', () => out().endsWith('last'))
  // The process that the script leaves behind.
  process.kill(-(child.pid ?? 0), 'SIGKILL')
  return { code, out: out(), err: Buffer.concat(errors).toString() }
}

t.test('the log and the exit code are those of the command', options, async (t) => {
  const folder = t.testdir({ 'own.yaml': DOCUMENT })
  const receiver = await receive(t)
  const env = await exportTo('furnace', { endpoint: receiver.endpoint, interval: 3 }, folder)
  const words = ['sh', '-c', SCRIPT]
  const plain = await run(words, {}, () => true)
  const off = await run([observer('push'), ...words], {}, () => true)
  t.strictSame(off, plain, 'without an endpoint')
  const pushed = await run([observer('push'), ...words], { ...env, POD_NAME: 'one' }, () => {
    return receiver.requests() > 0
  })
  t.strictSame(pushed, plain)
  t.equal(plain.code, 7)
  // On a busy machine, the command may end before the receiver has read the last push.
  await until('the last row arrives', () => receiver.points().at(-1)?.value === 9)
  const points = receiver.points()
  const zone = { 'ridealong.zone': 'top' }
  t.match(points[0], {
    name: 'ridealong.furnace.zone.heat',
    value: 20.5,
    unit: 'Cel',
    kind: 'gauge',
  })
  t.match(points[0], { attributes: zone, resource: { 'k8s.pod.name': 'one' } })
  t.match(points.at(-1), { name: 'ridealong.furnace.zone.joules', value: 9, kind: 'counter' })
})

t.test('the first failure is a row of the log', options, async (t) => {
  const folder = t.testdir({ 'own.yaml': DOCUMENT })
  const receiver = await receive(t, (_, response) => response.writeHead(503).end())
  const env = await exportTo('furnace', { endpoint: receiver.endpoint, interval: 3 }, folder)
  const { out, code } = await run([observer('push'), 'sh', '-c', SCRIPT], env, () => {
    return receiver.requests() > 2
  })
  t.equal(code, 7)
  const notices = out.split('\n').filter((line) => line.includes('"notice"'))
  t.equal(notices.length, 1, out)
  t.match(JSON.parse(notices[0] ?? ''), {
    time: /^\d{4}-/,
    notice: /^the live export to http\S+ failed: the receiver answered 503/,
  })
})

t.test('a command that cannot start has the exit code of a shell', options, async (t) => {
  for (const endpoint of ['', 'http://127.0.0.1:9/otlp']) {
    const env = endpoint === '' ? {} : await exportTo('perf-sysstat', { endpoint })
    const child = spawn(observer('push'), ['/no/such/program'], { env })
    const [code] = await once(child, 'close')
    t.equal(code, 127)
  }
})
