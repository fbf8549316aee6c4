import t from 'tap'
import { findWith } from './cases.ts'
import { findIn, inShort, LENGTH, podRows } from './rows.ts'

t.test('what waits is known, and not what had the processors', async (t) => {
  const { findings } = findWith({ process: { run_delay: 0.3, cpu_time: 0.65 } })
  t.match(
    findings[0]?.sentence,
    /30 % of the sampled [\d.]+ (s|min): lmp \(PID 100\) could run, but did not run immediately\./,
  )
})

t.test('processes that run in turn lose the sum of their waiting', async (t) => {
  const only = ['container', 'process'] as const
  const first = podRows('0', {}, { only })
  // Each lives for one sample, and waits for half of the time.
  const short = podRows('0', {}, { only: ['process'] })
    .filter(({ seconds }) => seconds > 0)
    .map((row) => ({ ...row, program: 'task', pid: 200 + row.seconds, run_delay: 5, cpu_time: 5 }))
  const rows = [...first, ...short].sort((a, b) => a.seconds - b.seconds)
  const [finding, ...others] = findIn(rows).findings
  t.strictSame(others, [])
  t.match(finding, { rule: 'waiting-for-cpu', lost: LENGTH / 2 })
  t.match(
    finding?.sentence,
    /waited for a CPU for 50 % of the sampled [\d.]+ (s|min): task \(12 processes\) could run/,
  )
})

t.test('processes that run together lose no more than one of them', async (t) => {
  const waiting = { process: { run_delay: 0.08, cpu_time: 0.85 } }
  t.strictSame(inShort(findIn(podRows('0', waiting, { others: [waiting, waiting] }))), [])
})

t.test('the worst process is named with its numbers, and the others without', async (t) => {
  const waiting = (part: number) => ({ process: { run_delay: part, cpu_time: 0.9 - part } })
  const rows = podRows('0', waiting(0.2), { others: [waiting(0.6)] })
  const [finding] = findIn(rows).findings
  t.match(finding?.sentence, /60 % of the sampled [\d.]+ (s|min): lmp \(PID 101\) could run/)
  t.match(finding?.sentence, / The same is true to a lesser extent of lmp \(PID 100\)\.$/)
})

const noEnds = () => []

t.test('the limit of the whole pod is the cause of waiting if it was used up', async (t) => {
  const waiting = { process: { run_delay: 0.3, cpu_time: 0.65 } }
  const findingWith = (cpu: number | null, only?: readonly ('perf' | 'process' | 'container')[]) =>
    findIn(podRows('0', waiting, only && { only }), noEnds, { cpu, memory: null }).findings[0]
  // The containers use 0.95 processors.
  const used = findingWith(1)
  t.match(
    used?.sentence,
    /could run, but the whole pod used up its CPU limit: 95 % of 1 processor, so that threads/,
  )
  t.match(used?.pods[0]?.facts.slice(-2), [
    { name: 'CPU limit of the whole pod', value: 1 },
    { name: 'used of the limit of the whole pod', unit: 'percent' },
  ])
  t.match(findingWith(1.1)?.sentence, /could run, but did not run immediately\./)
  t.match(findingWith(null)?.sentence, /could run, but did not run immediately\./)
  const names = findingWith(null)?.pods[0]?.facts.map(({ name }) => name) ?? []
  t.notOk(names.includes('CPU limit of the whole pod'), 'a pod without a limit')
})

t.test(
  'without the metric pressure, the time of processes is compared with the limit',
  async (t) => {
    const perf = { perf: { percent_cpu: 96, percent_wait: 30 } }
    const rows = podRows('0', perf, { only: ['perf'] })
    const [finding] = findIn(rows, noEnds, { cpu: 1, memory: null }).findings
    t.match(finding?.sentence, /the whole pod used up its CPU limit: 96 % of 1 processor/)
  },
)

t.test('a container that is throttled at the limit of the whole pod is told apart', async (t) => {
  const throttled = { nr_periods: 10, nr_throttled: 5, throttled: 0.5, cpu_usage: 0.5 }
  const rows = podRows('0', { container: { ...throttled, cpu_limit: 0.5 } })
  const sentenceWith = (cpu: number | null) =>
    findIn(rows, noEnds, { cpu, memory: null }).findings[0]?.sentence
  t.match(
    sentenceWith(0.5),
    /used up the CPU limit of the whole pod \(0\.5 processors\) in 50 % of the/,
  )
  t.match(sentenceWith(2), /used up the CPU limit of 0\.5 processors in 50 % of the periods/)
  t.match(sentenceWith(null), /used up the CPU limit of 0\.5 processors in 50 % of the periods/)
})
