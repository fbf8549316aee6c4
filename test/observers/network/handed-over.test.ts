import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { noticesOf, rowsOf } from '../json-rows.ts'
import { observer, type Pod, type Running, until } from '../pod.ts'
import { observerTests, type Row, summaryOf } from '../prerequisites.ts'
import { childWithInnerId, networkPodOf, withNetworks } from './pod-network.ts'

// A connection that one process hands to another: each process has the bytes that it sent itself.

const options = { ...withNetworks(observerTests()), timeout: 300_000 }
const PASS = fileURLToPath(new URL('pass.py', import.meta.url))
const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const GIVEN = 3_000_000
const TAKEN = 20_000_000

/** A line that pass.py prints. */
interface Step {
  readonly what: string
  readonly pid: number
}

/** Waits until pass.py has printed `count` lines of the kind `what`, and returns the last one. */
async function stepOf(app: Running, what: string, count = 1): Promise<Step> {
  const steps = () => {
    const lines = app.log().split('\n').slice(0, -1)
    return lines.map((line): Step => JSON.parse(line)).filter((step) => step.what === what)
  }
  await until(app, () => steps().length >= count)
  return steps()[count - 1] as Step
}

/** Waits for two more timepoints. */
async function sample(watching: Running): Promise<void> {
  const before = rowsOf(watching, 'tcp').length
  await until(watching, () => rowsOf(watching, 'tcp').length >= before + 2)
}

/** The last row of a process. */
function lastRow(watching: Running, { pid }: Step): Row | undefined {
  return rowsOf(watching, 'socket').findLast((row) => row.pid === pid)
}

/** Starts an observer and a process that reads all bytes, in a pod with a network. */
async function begin(t: Test): Promise<{ pod: Pod; watching: Running }> {
  const pod = await networkPodOf(t)
  const watching = await pod.run('network', [observer('network')], ENV)
  const sink = await pod.run('sink', ['python3', PASS, 'sink', '7000'])
  await until(sink, /listening/)
  return { pod, watching }
}

async function end(t: Test, watching: Running): Promise<Row> {
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const [whole = {}] = summaryOf(watching.log())
  return whole
}

t.test('a socket that is sent to another process counts for both in turn', options, async (t) => {
  const { pod, watching } = await begin(t)
  const commands = `python3 ${PASS} take ${TAKEN} & python3 ${PASS} give 7000 ${GIVEN} & wait`
  const app = await pod.run('app', ['sh', '-c', commands])
  await stepOf(app, 'listening')
  const giver = await stepOf(app, 'sent')
  await sample(watching)
  process.kill(childWithInnerId(app.pid, giver.pid), 'SIGUSR1')
  const taker = await stepOf(app, 'taken')
  await stepOf(app, 'given')
  await sample(watching)
  t.match(lastRow(watching, taker), { sockets: 1, bytes_sent: 0 }, 'an idle socket has its process')
  process.kill(childWithInnerId(app.pid, taker.pid), 'SIGUSR1')
  await stepOf(app, 'sent', 2)
  await sample(watching)
  process.kill(childWithInnerId(app.pid, taker.pid), 'SIGUSR1')
  await stepOf(app, 'closed')
  await sample(watching)
  const whole = await end(t, watching)
  t.match(lastRow(watching, giver), { peer: 'pod', bytes_sent: GIVEN })
  t.match(lastRow(watching, taker), { peer: 'pod', sockets: 0, bytes_sent: TAKEN })
  t.match(whole, { bytes_sent: GIVEN + TAKEN, unaccounted_bytes_sent: undefined })
  t.strictSame(noticesOf(watching), [])
})

for (const [how, title] of [
  ['fork', 'a socket counts for the child after the parent has closed its copy'],
  ['leave', 'a socket counts for the child after the parent has ended'],
] as const) {
  t.test(title, options, async (t) => {
    const { pod, watching } = await begin(t)
    const argv = ['sh', '-c', `python3 ${PASS} ${how} 7000 ${GIVEN} ${TAKEN} & wait; sleep 600`]
    const app = await pod.run('app', argv)
    const parent = await stepOf(app, 'sent')
    await sample(watching)
    const outer = childWithInnerId(app.pid, parent.pid)
    process.kill(outer, 'SIGUSR1')
    const child = await stepOf(app, 'taken')
    const outerChild = how === 'leave' ? undefined : childWithInnerId(outer, child.pid)
    await stepOf(app, 'given')
    await until(watching, () => lastRow(watching, child) !== undefined)
    process.kill(outerChild ?? childWithInnerId(pod.pid, child.pid), 'SIGUSR1')
    await stepOf(app, 'sent', 2)
    await sample(watching)
    const whole = await end(t, watching)
    t.match(lastRow(watching, parent), { bytes_sent: GIVEN })
    t.match(lastRow(watching, child), { sockets: 1, bytes_sent: TAKEN })
    t.match(whole, { bytes_sent: GIVEN + TAKEN, unaccounted_bytes_sent: undefined })
    t.strictSame(noticesOf(watching), [])
  })
}

t.test(
  'the bytes of a socket that is sent to a process that is not observed are unaccounted',
  options,
  async (t) => {
    const { pod, watching } = await begin(t)
    const other = await pod.run('other', ['python3', PASS, 'take', String(TAKEN)])
    await stepOf(other, 'listening')
    const app = await pod.run('app', ['python3', PASS, 'give', '7000', String(GIVEN)])
    const giver = await stepOf(app, 'sent')
    await sample(watching)
    app.signal('SIGUSR1')
    await stepOf(other, 'taken')
    await stepOf(app, 'given')
    await sample(watching)
    other.signal('SIGUSR1')
    await stepOf(other, 'sent')
    await sample(watching)
    other.signal('SIGUSR1')
    await stepOf(other, 'closed')
    await sample(watching)
    const whole = await end(t, watching)
    t.match(lastRow(watching, giver), { bytes_sent: GIVEN })
    t.match(whole, { bytes_sent: GIVEN, unaccounted_bytes_sent: TAKEN })
  },
)

t.test('bytes just before and after a socket is sent are counted once', options, async (t) => {
  const { pod, watching } = await begin(t)
  const commands = `python3 ${PASS} take ${TAKEN} & python3 ${PASS} give 7000 ${GIVEN} & wait`
  const app = await pod.run('app', ['sh', '-c', commands])
  await stepOf(app, 'listening')
  const giver = await stepOf(app, 'sent')
  process.kill(childWithInnerId(app.pid, giver.pid), 'SIGUSR1')
  const taker = await stepOf(app, 'taken')
  process.kill(childWithInnerId(app.pid, taker.pid), 'SIGUSR1')
  await stepOf(app, 'sent', 2)
  await sample(watching)
  const whole = await end(t, watching)
  t.equal(whole.bytes_sent, GIVEN + TAKEN)
  t.ok(Number(lastRow(watching, taker)?.bytes_sent) >= TAKEN)
})
