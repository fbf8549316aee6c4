import t from 'tap'
import { findWith } from '../../findings/cases.ts'
import { checkOptional } from '../../findings/optional-rule.ts'
import { findIn, podRows, type Sections } from '../../findings/rows.ts'

// The rows are built: no GPU was at hand.

const MIB = 1024 * 1024
const found = (changes: Sections, options = {}) => {
  return findWith(changes, options).findings.filter(({ rule }) => rule.startsWith('gpu-'))
}
const rulesIn = (changes: Sections, options = {}) => found(changes, options).map(({ rule }) => rule)

t.test('memory counts by its greatest use', async (t) => {
  const memory_used = (seconds: number) => (seconds === 50 ? 16_000 : 100) * MIB
  t.strictSame(rulesIn({ gpu: { memory_used } }), ['gpu-memory-nearly-full'])
  t.strictSame(rulesIn({ gpu: { memory_used, memory_total: null } }), [])
})

t.test('power and heat have different sentences, and need samples', async (t) => {
  const limits = { power_limited: 1, heat_limited: (seconds: number) => Number(seconds < 30) }
  const [one] = found({ gpu: limits })
  t.match(one?.sentence, /for 100 % of the time: by power for 100 %, and by heat for 16\.7 %\.$/)
  t.strictSame(rulesIn({ gpu: limits }, { step: 20 }), [])
  t.strictSame(rulesIn({ gpu: { power_limited: null, heat_limited: null } }), [])
})

t.test('rows of gpu-nvidia count as those of gpu', async (t) => {
  const memory_used = 16_000 * MIB
  const gpu = { memory_used, heat_limited: 1, gpu_busy: 0 }
  const rows = podRows('0', { gpu, line: { self_wall: 100, self_running: 0 } })
  const renamed = rows.map((row) => {
    return row.metric === 'gpu'
      ? { ...row, metric: 'gpu-nvidia', source: `${row.source}-nvidia` }
      : row
  })
  const names = (all: typeof rows) =>
    findIn(all).findings.flatMap(({ rule }) => (rule.startsWith('gpu-') ? [rule] : []))
  t.equal(names(renamed).length, 3)
  t.strictSame(names(renamed), names(rows))
})

t.test('a line that waits for a busy GPU, or waits shortly, is not found', async (t) => {
  const line = (self_wall: number): Sections => ({ line: { self_wall, self_running: 0 } })
  const rule = ['gpu-idle-while-python-waits']
  t.strictSame(rulesIn({ ...line(110), gpu: { gpu_busy: 60 } }), rule)
  t.strictSame(rulesIn({ ...line(110), gpu: { gpu_busy: 75 } }), [])
  t.strictSame(rulesIn({ ...line(29), gpu: { gpu_busy: 0 } }), [])
  t.strictSame(rulesIn({ ...line(40), gpu: { gpu_busy: 0 } }, { step: 20 }), [])
})

t.test('a GPU of which the rows end early counts as busy after them', async (t) => {
  const rows = podRows('0', { line: { self_wall: 100, self_running: 0 }, gpu: { gpu_busy: 0 } })
  const until = (last: number) =>
    rows.filter(({ metric, seconds }) => metric !== 'gpu' || seconds <= last)
  const sentences = (last: number) =>
    findIn(until(last)).findings.flatMap(({ rule, sentence }) =>
      rule === 'gpu-idle-while-python-waits' ? [sentence] : [],
    )
  t.match(sentences(120), [/it waited there for 100 s, and the GPU was busy for at most 0 % of/])
  t.match(sentences(90), [/idle for at least 58\.3 % .* the GPU was busy for at most 25 % of/])
  t.strictSame(sentences(40), [])
})

t.test('of several processes, the mean of their waits counts', async (t) => {
  const waits = { line: { self_wall: 60, self_running: 0 }, gpu: { gpu_busy: 10 } }
  const first = podRows('0', waits)
  const second = first
    .filter(({ metric }) => metric === 'python-profile')
    .map((row) => ({ ...row, pid: 101, function: 'step (train.py:12)', self_wall: 1 }))
  const count = (rows: typeof first) =>
    findIn(rows).findings.filter(({ rule }) => rule === 'gpu-idle-while-python-waits').length
  t.equal(count(first), 1)
  t.equal(count([...first, ...second]), 0)
})

t.test('a launcher, which waits for the program that computes, does not count', async (t) => {
  const waits = { line: { self_wall: 90, self_running: 60 }, gpu: { gpu_busy: 50 } }
  const own = podRows('0', waits)
  const launcher = own
    .filter(({ metric }) => metric === 'python-profile')
    .map((row) => ({ ...row, program: 'torchrun', pid: 50, self_wall: 118, self_running: 1 }))
  const rules = findIn([...own, ...launcher]).findings.map(({ rule }) => rule)
  t.notOk(rules.includes('gpu-idle-while-python-waits'), rules.join())
})

t.test('the rules are listed as not checked only if some pods have the metric', async (t) => {
  checkOptional(t, 'gpu-memory-nearly-full', 'gpu')
  checkOptional(t, 'gpu-throttled', 'gpu')
})

t.test('columns that the driver does not have are named', async (t) => {
  const { notChecked } = findIn(podRows('0', { gpu: { gpu_busy: null, memory_used: null } }))
  t.match(
    notChecked.filter(({ rule }) => rule.startsWith('gpu-')),
    [{ rule: 'gpu-memory-nearly-full', reason: /memory_used/ }, { reason: /gpu_busy/ }],
  )
})
