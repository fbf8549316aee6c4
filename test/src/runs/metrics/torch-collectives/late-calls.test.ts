import t from 'tap'
import { storeOf } from '../../../../../src/runs/evidence/stores.ts'
import { joinTorch } from '../../../../../src/runs/metrics/torch-collectives/late-calls.ts'
import {
  TORCH_STORE,
  type TorchRun,
} from '../../../../../src/runs/metrics/torch-collectives/torch-run.ts'
import { reportModel } from '../../../../../src/runs/report/data.ts'
import { newRun } from '../../../../../src/runs/report/gather.ts'
import { newThingLimit } from '../../../../../src/runs/report/thing-limit.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'
import { addTorchLog, everySeconds, type TorchMember, torchLines, torchLog } from './torch-log.ts'

const RULE = 'late-in-torch-collectives'

/** The calls of one rank in the logs of its observers, in their order. */
type Logs = readonly (readonly TorchMember[])[]

/** Reads the logs of the pods of two ranks. In a pod, several logs are those of one observer. */
function readPods(pods: readonly Logs[], mostThings?: number) {
  const run = newRun(BUILT_IN_ROWS, [], newThingLimit(mostThings))
  for (const [rank, logs] of pods.entries()) {
    const texts = logs.map((members, at) => {
      return torchLog(members.flatMap(torchLines), `2026-09-21T13:4${at}:00Z`)
    })
    addTorchLog(run, rank, `logs/rank-${rank}`, texts.join(''))
  }
  return run
}

/** A rank that the rule names, with the values of its facts. */
type Facts = Readonly<Record<string, string | number>>

/** Returns what the rule finds in such logs. */
function findIn(pods: readonly Logs[]) {
  const { findings, notChecked } = reportModel(readPods(pods), 'process').found
  const [finding] = findings.filter(({ rule }) => rule === RULE)
  const facts = finding?.pods.map(({ pod, facts: own }): Facts => {
    return { pod, ...Object.fromEntries(own.map(({ name, value }) => [name, value])) }
  })
  return { facts, reason: notChecked.find(({ rule }) => rule === RULE)?.reason }
}

/** Returns the calls of one process of a rank, in one log. */
const oneLog = (rank: number, called: TorchMember['called']): Logs => [[{ rank, called }]]

/** The times of calls of which the first ones of each step are asynchronous. */
function burst(steps: number, calls: number, { every = 10, from = 0, kept = calls } = {}) {
  const all = Array.from({ length: steps * calls }, (_, at) => {
    const [step, call] = [Math.floor(at / calls), at % calls]
    return { number: at, time: from + step * every + call / 1000, isKept: call >= calls - kept }
  })
  return new Map(all.flatMap(({ number, time, isKept }) => (isKept ? [[number, time]] : [])))
}

t.test('a rank that is late by a hundredth of each step is no finding', async (t) => {
  for (const kept of [32, 100]) {
    const of = (rank: number) => oneLog(rank, burst(62, 100, { kept, from: rank / 10 }))
    t.strictSame(findIn([of(0), of(1)]), { facts: undefined, reason: undefined }, `${kept} calls`)
  }
})

t.test('a call before which the others made their next one is not waiting', async (t) => {
  // Steps of 10 s with 20 calls; all wait for the last one, which is 4 s late.
  const calls = (rank: number) => burst(25, 20, { from: 4 * rank })
  const { facts } = findIn([oneLog(0, calls(0)), oneLog(1, calls(1))])
  t.match(facts, [{ pod: '1', 'last in calls': 100, 'median delay': 4 }])
  const numberOf = (name: string) => Number(facts?.[0]?.[name])
  // The last call of the last step has no next one.
  t.ok(Math.abs(numberOf('waiting of the others') - 24 * 4) < 0.001, JSON.stringify(facts))
  t.ok(Math.abs(numberOf('part of the recorded time of the others') - 40) < 0.1)
})

t.test('calls that wait are compared as before', async (t) => {
  const calls = (rank: number) => everySeconds(201, 0.1, { from: 0.031 * rank })
  const { facts } = findIn([oneLog(0, calls(0)), oneLog(1, calls(1))])
  const numberOf = (name: string) => Number(facts?.[0]?.[name])
  t.ok(Math.abs(numberOf('median delay') - 0.031) < 0.001, JSON.stringify(facts))
  t.ok(Math.abs(numberOf('waiting of the others') - 200 * 0.031) < 0.001)
})

t.test('the last calls of a long run are compared', async (t) => {
  // A report keeps only the first 25 things of each section of a log.
  const called = (rank: number) => everySeconds(2500, 5, { from: 2 * rank })
  const pods = [0, 1].map((rank) => oneLog(rank, called(rank)))
  const { run, found, page } = reportModel(readPods(pods, 25), 'process')
  t.match(found.findings, [{ rule: RULE, pods: [{ pod: '1' }] }])
  const numbers = [...storeOf(run.evidence.stores, TORCH_STORE).values()].map(({ groups }) => {
    const all = [...(groups.get('0')?.calls.keys() ?? [])]
    return [all.length, all[0], all.at(-1)]
  })
  t.strictSame(numbers, [
    [2000, 501, 2500],
    [2000, 501, 2500],
  ])
  t.notMatch(page.notices.join('\n'), /collective/)
})

t.test('process groups beyond the limit have no calls', async (t) => {
  const processes = [70, 71, 72].map((pid) => ({ rank: pid, pid, called: everySeconds(2, 1) }))
  const { evidence } = readPods([[processes]], 2)
  const pids = [...storeOf(evidence.stores, TORCH_STORE).values()].map(({ pid }) => pid)
  t.strictSame(pids, [70, 71])
})

t.test('after a restart, the processes of the last start are compared', async (t) => {
  const start = (rank: number, pid: number, from: number): TorchMember => {
    return { rank, pid, called: everySeconds(30, 5, { from: from + 2 * rank }) }
  }
  // Rank 0 is late before the restart, and rank 1 after it.
  const before = (rank: number) => ({ ...start(1 - rank, 70, 0), rank })
  const after = (rank: number) => start(rank, 90, 1000)
  const both = findIn([[[before(0), after(0)]], [[before(1), after(1)]]])
  t.match(both, { facts: [{ pod: '1', 'recorded calls': 30, 'median delay': 2 }] })
  t.equal(both.reason, undefined)
  // The same process id is that of another process, if the first one has ended.
  const reused = (rank: number) => [
    { ...before(rank), hasEnded: true },
    { ...after(rank), pid: 70 },
  ]
  t.match(findIn([[reused(0)], [reused(1)]]), { facts: [{ pod: '1' }], reason: undefined })
  // If one rank lacks the last start, those of the start before are compared.
  t.match(findIn([[[before(0), after(0)]], [[before(1)]]]), { facts: [{ pod: '0' }] })
})

t.test('starts of which no member is there twice are not mixed', async (t) => {
  const [first, second] = [everySeconds(30, 5), everySeconds(30, 5, { from: 1000 })]
  const own = [
    { rank: 0, pid: 70, called: first },
    { rank: 0, pid: 90, called: second },
  ]
  const { facts, reason } = findIn([[own], [[{ rank: 1, called: new Map([[31, 3000]]) }]]])
  t.equal(facts, undefined)
  t.match(reason, /rows of only 1 of the 2 members of the process group 0 \(default_pg\)/)
})

t.test('two processes of a rank at the same time are not compared', async (t) => {
  const own = [70, 71].map((pid) => ({ rank: 0, pid, called: everySeconds(30, 5) }))
  const { facts, reason } = findIn([[own], oneLog(1, everySeconds(30, 5, { from: 2 }))])
  t.equal(facts, undefined)
  t.match(reason, /several processes have the same rank in the process group 0 \(default_pg\)/)
})

t.test('the calls of a process in the logs of two runs of the observer are joined', async (t) => {
  const called = (rank: number, from: number, to: number) => {
    const all = everySeconds(40, 5, { from: 2 * rank })
    return { rank, called: new Map([...all].filter(([number]) => number >= from && number <= to)) }
  }
  // The second run of the observer writes some of the calls again.
  const joined: Logs = [[called(0, 1, 20)], [called(0, 15, 40)]]
  t.match(findIn([joined, [[called(1, 1, 40)]]]), {
    facts: [{ pod: '1', 'recorded calls': 40 }],
    reason: undefined,
  })
  // A pod with the same name, whose process has the same id, has other times.
  const again = { rank: 0, called: everySeconds(40, 5, { from: 1000 }) }
  t.match(findIn([[[called(0, 1, 20)], [again]], [[called(1, 1, 40)]]]), { facts: [{ pod: '1' }] })
})

/** Returns a run with this many members, each of which is the last one in some of the calls. */
function largeRun(members: number, calls: number): TorchRun {
  const run = TORCH_STORE.create()
  for (let rank = 0; rank < members; rank += 1) {
    const callOf = (number: number) => ({
      called: number * 5 + (number % members === rank ? 1 : 0) + rank / members / 100,
      operation: 'gloo:all_reduce',
    })
    const numbers = Array.from({ length: calls }, (_, number) => number)
    const own = new Map(numbers.map((number) => [number, callOf(number)]))
    const facts = { name: '0', description: '', size: members, members: `0-${members - 1}` }
    const groups = new Map([['0', { ...facts, calls: own }]])
    const source = `log-${rank}`
    run.set(source, { source, node: 'n', pid: 70, rank, hasEnded: false, groups })
  }
  return run
}

t.test('only members that are often the last ones are described', async (t) => {
  const { late, incomparable } = joinTorch(largeRun(20, 200), (source) => source)
  t.strictSame(late, [])
  t.equal(incomparable.size, 0)
})

t.test('a process group without a row has no description', async (t) => {
  const members = [0, 1].map((rank) => {
    return torchLines({ rank, called: everySeconds(30, 5) }).filter(
      (line) => !line.includes('"section":"group"'),
    )
  })
  const run = newRun(BUILT_IN_ROWS)
  for (const [rank, lines] of members.entries())
    addTorchLog(run, rank, `logs/rank-${rank}`, torchLog(lines))
  const { notChecked } = reportModel(run, 'process').found
  t.match(
    notChecked.find(({ rule }) => rule === RULE),
    {
      reason: /^the members of the process group 0 are not known/,
    },
  )
})
