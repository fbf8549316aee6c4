import t from 'tap'
import {
  type GroupedEvidence,
  groupByPod,
  growthOf,
} from '../../../../../src/runs/evidence/run-evidence.ts'
import { applyRules } from '../../../../../src/runs/findings/evaluate.ts'
import { startAssessor } from '../../../../../src/runs/top/findings/assessment.ts'
import { HALF_SECONDS } from '../../../../../src/runs/top/findings/log-evidence.ts'
import { HEAD, row, START, type TestPod, testPod } from './live-pod.ts'

// The rows are inputs, whose numbers a test chooses.

const WINDOW = 2 * HALF_SECONDS
const RATE = 5

/** Seconds in which a process waits for a processor half of the time. */
type Load = (second: number) => boolean

/**
 * The rows of each timepoint of a process that computes, and while there is a load, waits as long
 * as it computes.
 */
function rowsUntil(seconds: number, isLoaded: Load, from = 0): readonly (readonly string[])[] {
  const timepoints: (readonly string[])[] = []
  let [waited, ran] = [1000, 2000]
  for (let second = 0; second <= seconds; second += RATE) {
    if (second >= from) timepoints.push(rowsAt(second, waited, ran))
    const part = isLoaded(second + RATE / 2) ? 0.5 : 0
    waited += RATE * part
    ran += RATE * (1 - part)
  }
  return timepoints
}

function rowsAt(second: number, waited: number, ran: number): readonly string[] {
  const container = { container: 'app', throttled: 0, nr_periods: 0, nr_throttled: 0 }
  const process = { container: 'app', program: 'lmp', pid: 7, run_delay: waited, cpu_time: ran }
  return [
    row(second, 'container', { ...container, cpu_usage: ran }),
    row(second, 'process', process),
  ]
}

/** Returns the seconds at which the findings of a pod changed, with the findings from then on. */
function changesOf(pod: TestPod, timepoints: readonly (readonly string[])[]) {
  const assessor = startAssessor()
  const changes: (readonly [number, string])[] = []
  pod.push(HEAD)
  for (const [index, lines] of timepoints.entries()) {
    pod.push(...lines)
    const found = assessor.assess([pod], 0).findings.get(`hpc/${pod.pod}`)?.join(' ') ?? ''
    if (found !== (changes.at(-1)?.[1] ?? '')) changes.push([index * RATE, found])
  }
  return changes
}

t.test(
  'a finding comes within two windows after a load begins, and goes after it ends',
  async (t) => {
    for (const [begins, ends] of [
      [100, 220],
      [100, 200],
      [85, 300],
      [0, 150],
      [112, 175],
    ] as const) {
      const rows = rowsUntil(600, (second) => second > begins && second < ends)
      const changes = changesOf(testPod('0', 'pressure'), rows)
      const name = `a load from ${begins} to ${ends}: ${JSON.stringify(changes)}`
      t.strictSame(
        changes.map(([, found]) => found),
        ['waiting-for-cpu', ''],
        name,
      )
      const [[came = 0] = [], [went = 0] = []] = changes
      t.ok(came > begins && came <= begins + 2 * WINDOW, name)
      t.ok(went > ends && went <= ends + 2 * WINDOW, name)
    }
  },
)

t.test('a finding does not come and go with a load that begins again and again', async (t) => {
  for (const period of [40, 70, 100]) {
    const rows = rowsUntil(900, (second) => second > 100 && second % period < period / 2)
    const [first, ...others] = changesOf(testPod('0', 'pressure'), rows)
    t.equal(first?.[1], 'waiting-for-cpu')
    t.strictSame(others, [], `every ${period} s`)
  }
})

t.test('a run without a load has no finding', async (t) => {
  t.strictSame(
    changesOf(
      testPod('0', 'pressure'),
      rowsUntil(300, () => false),
    ),
    [],
  )
})

/** Returns the growth of a counter of a process in the last window. */
function growthIn(evidence: GroupedEvidence | undefined, program: string): number | null {
  for (const [key, { things }] of evidence?.sections ?? [])
    for (const thing of things.values())
      if (key === 'pressure process' && thing.program === program)
        return growthOf(thing, 'cpu_time')
  return null
}

t.test('the window has the growth since it began, and nothing of the time before', async (t) => {
  const pod = testPod('0', 'pressure')
  pod.push(HEAD)
  for (const lines of rowsUntil(300, () => false)) pod.push(...lines)
  const window = pod.observers[0].evidence.window()
  t.equal(window?.from, START + 240_000)
  t.equal(window?.to, START + 300_000)
  t.equal(growthIn(window?.evidence, 'lmp'), WINDOW)
  t.equal(growthIn(pod.observers[0].evidence.whole(), 'lmp'), 300)
})

t.test('the findings of a window are those of a log with only its rows', async (t) => {
  const isLoaded: Load = (second) => second > 250
  const [pod, other] = [testPod('0', 'pressure'), testPod('0', 'pressure')]
  pod.push(HEAD, ...rowsUntil(300, isLoaded).flat())
  other.push(HEAD, ...rowsUntil(300, isLoaded, 240).flat())
  const [window, whole] = [
    pod.observers[0].evidence.window()?.evidence,
    other.observers[0].evidence.whole(),
  ]
  const findingsIn = (evidence: GroupedEvidence | undefined) =>
    evidence === undefined ? [] : applyRules(groupByPod(evidence, () => '0')).findings
  t.equal(findingsIn(window).length, 1)
  t.strictSame(findingsIn(window), findingsIn(whole))
})

t.test('a process that starts within the window counts from zero', async (t) => {
  const pod = testPod('0', 'pressure')
  const process = (second: number, program: string, pid: number, cpu_time: number) =>
    row(second, 'process', { container: 'app', program, pid, cpu_time, run_delay: 0 })
  pod.push(HEAD)
  for (let second = 0; second <= 90; second += RATE) {
    const late = second < 50 ? [] : [process(second, 'late', 2, second - 48)]
    const [program, ran] = [second < 70 ? 'first' : 'second', second - 58]
    const executes = second < 60 ? [] : [process(second, program, 3, ran)]
    pod.push(process(second, 'sh', 1, 7), ...late, ...executes)
  }
  const evidence = pod.observers[0].evidence.window()?.evidence
  t.equal(growthIn(evidence, 'sh'), 0)
  t.equal(growthIn(evidence, 'late'), 42)
  t.equal(growthIn(evidence, 'first'), 7)
  t.equal(growthIn(evidence, 'second'), 25, 'the counter of the process goes on')
})

t.test('a process without rows for a while is not counted from zero again', async (t) => {
  const pod = testPod('0', 'pressure')
  pod.push(HEAD)
  for (let second = 0; second <= 300; second += RATE) {
    const own = { container: 'app', program: 'sh', pid: 1, cpu_time: 0 }
    const rare = { container: 'app', program: 'rare', pid: 2, cpu_time: 5000 + second }
    const others = second % 100 === 0 ? [row(second, 'process', rare)] : []
    pod.push(row(second, 'process', own), ...others)
  }
  t.equal(growthIn(pod.observers[0].evidence.window()?.evidence, 'rare'), 100)
})

t.test('with a long interval, a half of the window has one timepoint', async (t) => {
  const pod = testPod('0', 'pressure')
  pod.push(HEAD)
  for (const second of [0, 120, 240, 360, 480])
    pod.push(
      row(second, 'process', { program: 'lmp', pid: 7, run_delay: second, cpu_time: second }),
    )
  const window = pod.observers[0].evidence.window()
  t.equal(window?.from, START + 240_000)
  t.equal(growthIn(window?.evidence, 'lmp'), 240)
})

t.test('the rows of the first timepoint do not count if others of it may be missing', async (t) => {
  const pod = testPod('0', 'pressure')
  const process = (second: number, pid: number) =>
    row(second, 'process', { program: `p${pid}`, pid, cpu_time: 1000 + second, run_delay: 0 })
  pod.push(process(0, 2))
  for (let second = RATE; second <= 40; second += RATE)
    pod.push(process(second, 1), process(second, 2))
  const whole = pod.observers[0].evidence.whole()
  t.equal(growthIn(whole, 'p1'), 35)
  t.equal(growthIn(whole, 'p2'), 35)
})

t.test('the memory does not grow with the number of processes of a long run', async (t) => {
  const pod = testPod('0', 'pressure')
  pod.push(HEAD)
  const living = { container: 'app', program: 'lmp', pid: 1, run_delay: 0 }
  for (let second = 0; second < 2000; second += RATE) {
    const short = Array.from({ length: 10 }, (_, index) => {
      const pid = 10 + second * 10 + index
      return row(second, 'process', { container: 'app', program: 'short', pid, cpu_time: 1 })
    })
    pod.push(row(second, 'process', { ...living, cpu_time: second }), ...short)
  }
  const { evidence } = pod.observers[0]
  const count = (all: GroupedEvidence | undefined) =>
    [...(all?.sections ?? [])].reduce((sum, [, { things }]) => sum + [...things.values()].length, 0)
  t.ok(count(evidence.whole()) <= 1020, `${count(evidence.whole())} of 4001 processes are known`)
  t.equal(growthIn(evidence.whole(), 'lmp'), 1995, 'the process that goes on is kept')
  t.ok(count(evidence.window()?.evidence) <= 200)
})

t.test('a container that starts again has a new log', async (t) => {
  const pod = testPod('0', 'pressure')
  pod.push(HEAD, ...rowsUntil(100, () => true).flat())
  pod.push('METADATA START {"metricName":"pressure"}', 'METADATA END', HEAD)
  pod.push(...rowsUntil(40, () => false).flat())
  const { evidence } = pod.observers[0]
  t.equal(growthIn(evidence.whole(), 'lmp'), 40)
  t.equal(growthIn(evidence.window()?.evidence, 'lmp'), 30)
})
