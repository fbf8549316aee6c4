import { readFileSync } from 'node:fs'
import t from 'tap'
import { mismatchesIn, noticesOf, rowsOf } from '../../json-rows.ts'
import { type Running, until } from '../../pod.ts'
import { observerTests, type Row, summaryOf } from '../../prerequisites.ts'
import { withNetworks } from '../pod-network.ts'
import { ADDRESS, answer, ncclPod, stop } from './nccl-pod.ts'

const options = withNetworks(observerTests())
const RANK_0 = { RANK: '0', WORLD_SIZE: '2' }
const RANK_1 = { RANK: '1', WORLD_SIZE: '2' }

const untilRows = (running: Running, section: string, count: number) =>
  until(running, () => rowsOf(running, section).length >= count)
const isAnswered = ({ state }: Row) => state === 'answered'
/** The service is refused until it listens. */
const answersIn = (running: Running) => rowsOf(running, 'service').filter(isAnswered)
const askedIn = ({ log }: Running) => log().split('asked\n').length - 1
/** The largest memory of a process in KiB. */
const peakOf = ({ pid }: Running) =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

t.test('a rank that has launched fewer operations than others is behind', options, async (t) => {
  const own = await ncclPod(t)
  await own.rank(RANK_1)
  await own.serve(['json', '[[5,5],[6,5]]'], RANK_0)
  await until(own.watching, () => answersIn(own.watching).length >= 4)
  await stop(own)
  t.strictSame(mismatchesIn(own.watching, 'nccl-ras'), [])
  t.strictSame(noticesOf(own.watching), [])
  const services = answersIn(own.watching)
  t.match(services.at(-1), {
    ...{ role: 'first', scope: 'pod', format: 'json', nccl_version: '2.29.1' },
    ...{ communicators: 1, own_ranks: 2, late_answers: 0 },
  })
  const [since = 0, then = 0] = services.slice(-2).map((row) => Number(row.without_change))
  t.ok(then > since, `nothing has changed for ${since} and then ${then} s`)
  t.match(rowsOf(own.watching, 'communicator').at(-1), {
    ...{ communicator: 'ae94423cfbb2ef4a', size: 2, ranks_missing: 0, ranks_behind: 1 },
    ...{ ranks_ahead: 1, operation: 'AllReduce', launched: 6 },
  })
  const [late, other] = rowsOf(own.watching, 'rank').slice(-2)
  t.match(late, { nccl_rank: 1, host: ADDRESS, state: 'running', launched: 6, behind: 1 })
  t.match(other, { nccl_rank: 0, behind: 0, operation: null })
  const processes = rowsOf(own.watching, 'process').slice(-2)
  const late_process = processes.find(({ pid }) => pid === late?.nccl_pid)
  t.match(late_process, { world_rank: 1, world_size: 2, addresses: ADDRESS })
  t.match(late_process, { program: 'sleep', process_state: 'sleeping' })
  t.match(summaryOf(own.watching.log()), [{ metric: 'nccl-ras', failures: Number }])
})

t.test('the answers of an earlier attempt are about another job', options, async (t) => {
  const own = await ncclPod(t)
  const start = async () => [await own.rank(RANK_1), await own.serve(['json', '[[5,5]]'], RANK_0)]
  const before = await start()
  await until(own.watching, () => answersIn(own.watching).length >= 4)
  for (const one of before) one.signal('SIGKILL')
  await Promise.all(before.map(({ ended }) => ended))
  await start()
  const processes = () => rowsOf(own.watching, 'process').filter(({ attempt }) => attempt === 2)
  const answers = () => {
    const [{ time: from = null } = {}] = processes()
    return answersIn(own.watching).filter(({ time }) => from !== null && String(time) >= `${from}`)
  }
  await until(own.watching, () => answers().length >= 2)
  await stop(own)
  t.strictSame(mismatchesIn(own.watching, 'nccl-ras'), [])
  t.match(answers()[0], { without_change: 0, longest_gap: 0 })
  t.equal(summaryOf(own.watching.log())[0]?.answers, answers().length)
})

t.test('a rank without data is missing', options, async (t) => {
  const own = await ncclPod(t)
  await own.serve(['slow', '[[6,null]]'], RANK_0)
  await untilRows(own.watching, 'rank', 2)
  await stop(own)
  t.match(rowsOf(own.watching, 'rank').at(0), { nccl_rank: 1, state: 'unresponsive' })
  t.match(rowsOf(own.watching, 'communicator').at(0), { ranks_missing: 1, ranks_behind: 0 })
})

t.test('a service before NCCL 2.28.7 answers in text', options, async (t) => {
  const own = await ncclPod(t)
  await own.serve(['text', answer('mismatch-2.24.txt')], RANK_0)
  await untilRows(own.watching, 'rank', 6)
  await stop(own)
  t.strictSame(mismatchesIn(own.watching, 'nccl-ras'), [])
  const [answered] = answersIn(own.watching)
  t.match(answered, { format: 'text', nccl_version: '2.24.3+cuda12.6', own_ranks: 0 })
  const ranks = rowsOf(own.watching, 'rank').slice(0, 6)
  t.strictSame(
    ranks.map(({ nccl_rank, behind }) => [nccl_rank, behind]),
    [0, 2, 3, 4, 5, 7].map((rank) => [rank, 1]),
  )
})

t.test('the observer ends at once while a service is silent', options, async (t) => {
  const own = await ncclPod(t)
  const service = await own.serve(['silent'], RANK_0)
  await until(own.watching, /COLLECTION START/)
  const milliseconds = await stop(own)
  // It would wait 15 s for the answer.
  t.ok(milliseconds < 14_000, `it ends within ${Math.round(milliseconds)} ms`)
  t.match(own.watching.log(), /METRICS OPERATOR COLLECTION END\n/)
  service.signal('SIGKILL')
})

for (const [kind, state] of [
  ['endless', 'too-large'],
  ['other', 'unreadable'],
] as const)
  t.test(`the memory is bounded if what listens is ${kind}`, options, async (t) => {
    const own = await ncclPod(t)
    await own.serve([kind], RANK_0)
    const isThere = () => rowsOf(own.watching, 'service').some((row) => row.state === state)
    await until(own.watching, isThere)
    const peak = peakOf(own.watching)
    t.ok(peak < 32 * 1024, `the observer has used ${peak} KiB at most`)
    await stop(own)
    t.match(noticesOf(own.watching)[0], /on 127\.0\.0\.1:28028/)
    t.match(own.watching.log(), /has never answered/)
  })

t.test('the pod of the last rank asks at every fifth timepoint', options, async (t) => {
  const own = await ncclPod(t)
  const service = await own.serve(['json', '[[6,6]]'], RANK_1)
  const timepoints = () => new Set(rowsOf(own.watching, 'process').map(({ time }) => time)).size
  await until(own.watching, () => timepoints() >= 7 && answersIn(own.watching).length > 0)
  await stop(own)
  t.ok(askedIn(service) >= 1 && askedIn(service) <= timepoints() / 5)
  t.match(answersIn(own.watching)[0], { role: 'stand-in' })
})

t.test('other pods do not ask', options, async (t) => {
  const own = await ncclPod(t)
  const service = await own.serve(['json', '[[6,6,6]]'], { RANK: '1', WORLD_SIZE: '3' })
  await untilRows(own.watching, 'process', 6)
  await stop(own)
  t.equal(askedIn(service), 0)
  t.strictSame(rowsOf(own.watching, 'service'), [])
})

t.test('a service that NCCL_RAS_ENABLE turns off is not asked', options, async (t) => {
  const own = await ncclPod(t)
  const service = await own.serve(['json'], { ...RANK_0, NCCL_RAS_ENABLE: '0' })
  await untilRows(own.watching, 'process', 2)
  await stop(own)
  t.equal(askedIn(service), 0)
  t.match(noticesOf(own.watching), [/NCCL_RAS_ENABLE is 0/])
})

t.test(
  'NCCL_RAS_ADDR names the port, and the network can be that of the node',
  options,
  async (t) => {
    const own = await ncclPod(t, { RIDEALONG_HOST_NETWORK: 'true' })
    const address = { SERVICE_PORT: '12345', NCCL_RAS_ADDR: 'localhost:12345' }
    await own.serve(['json'], { ...RANK_0, ...address })
    const isAnswered = () => rowsOf(own.watching, 'service').some((row) => row.state === 'answered')
    await until(own.watching, isAnswered)
    await stop(own)
    t.match(rowsOf(own.watching, 'service').at(-1), { address: '127.0.0.1:12345', scope: 'node' })
  },
)

t.test('a job without NCCL has rows of requests that were refused', options, async (t) => {
  const own = await ncclPod(t)
  await own.rank({})
  await untilRows(own.watching, 'service', 2)
  await stop(own)
  t.match(rowsOf(own.watching, 'service')[0], { state: 'refused', role: 'first', format: null })
  t.match(noticesOf(own.watching), [
    /has never answered: nothing listens on 127\.0\.0\.1:28028; .* since version 2\.24/,
  ])
})
