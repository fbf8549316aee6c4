import fc from 'fast-check'
import t from 'tap'
import {
  CUT,
  joinSummaries,
  readSummaryMessage,
  type SummaryMessage,
} from '../../../../src/runs/facts/summary-message.ts'

function read(message: string): SummaryMessage {
  const found = readSummaryMessage(message)
  if ('problem' in found) throw new Error(found.problem)
  return found
}

const USE = {
  container: 'app',
  seconds: 8.2,
  final: true,
  cpu_usage: 7.9,
  cpu_limit: 2,
  nr_periods: 80,
  nr_throttled: 4,
  throttled: 0.5,
  io_full: null,
  memory_peak: 1e8,
  memory_limit: 2e8,
  oom_kill: 0,
  run_delay: 0.25,
}
const line = (more: object) => `${JSON.stringify({ metric: 'vitals', pod: 'a', ...more })}\n`

t.test('the first line has the use of each container', async (t) => {
  const { containers, leftOut } = read(
    line({ containers: [USE, { ...USE, container: 'other' }], containers_left_out: 1 }),
  )
  t.strictSame([...containers.keys()], ['app', 'other'])
  t.equal(leftOut, 1)
  t.match(containers.get('app'), {
    seconds: 8.2,
    cpu: 7.9,
    throttledPeriods: 4,
    storage: null,
    memoryPeak: 1e8,
    isFinal: true,
  })
})

t.test(
  'a message that the kubelet has cut has no summary until its first line is whole',
  async (t) => {
    const whole = line({ containers: [USE] })
    for (let bytes = 12; bytes < whole.length; bytes += 1)
      t.strictSame(readSummaryMessage(whole.slice(0, bytes)), { problem: CUT })
    // A line is at most 1,000 bytes, and a pod with 12 containers has 1,024 for each.
    const padded = line({
      padding: 'x'.repeat(1000 - line({ padding: '', containers: [USE] }).length),
      containers: [USE],
    })
    t.equal(padded.length, 1000)
    t.equal(
      read(`${padded}${'{"program":"lmp"}\n'.repeat(9)}`.slice(0, 12_288 / 12)).containers.size,
      1,
    )
    t.match(readSummaryMessage(padded.slice(0, Math.floor(12_288 / 13))), { problem: CUT })
  },
)

t.test('a message may contain anything', async (t) => {
  for (const message of ['', '\n', '{}\n', '[]\n', 'null\n', '{"metric":1}\n', 'Error: no space\n'])
    t.match(readSummaryMessage(message), { problem: 'is not the summary of an observer' }, message)
  const hostile = { container: '__proto__', cpu_usage: -1, memory_peak: 1e300, seconds: '9' }
  const use = read(line({ containers: [hostile, 7, { container: 8 }] })).containers.get('__proto__')
  t.match(use, { cpu: null, memoryPeak: null, seconds: null })
  fc.assert(
    fc.property(fc.string(), fc.jsonValue(), (text, value) => {
      readSummaryMessage(text)
      readSummaryMessage(`${JSON.stringify(value)}\n${text}`)
      readSummaryMessage(line({ containers: [value] }))
    }),
  )
})

t.test('of several observers, each value is that of the best one that has it', async (t) => {
  const sampled = { container: 'lammps', cpu_usage: 5.8, memory_peak: 137_822_208 }
  const pressure = read(line({ metric: 'pressure', containers: [sampled] }))
  const use = { ...USE, container: 'lammps', memory_peak: null }
  const now = read(line({ metric: 'perf-sysstat', containers: [use] }))
  const joined = joinSummaries([pressure, now]).get('lammps')
  t.match(joined, { cpu: 7.9, memoryPeak: 137_822_208, isFinal: true })
})
