import t from 'tap'
import { type Factor, factor, missingFactor } from '../../../../src/runs/efficiency/factor.ts'
import { factorLines } from '../../../../src/runs/efficiency/factor-lines.ts'
import { mpiFactors } from '../../../../src/runs/efficiency/mpi-factors.ts'
import {
  type PodTimes,
  processorFactors,
} from '../../../../src/runs/efficiency/processor-factors.ts'
import {
  mayWaitNow,
  type RunFacts,
  VERDICTS,
  verdict,
  verdictKind,
} from '../../../../src/runs/efficiency/verdict.ts'
import type { Gap } from '../../../../src/runs/findings/looked-at.ts'
import { CASES, findWith } from '../findings/cases.ts'

/** Returns the tree of a job with two ranks, which compute and wait for these parts of the time. */
const mpi = (computing: readonly [number, number], waited: number | null) =>
  mpiFactors(
    computing.map((part, index) => ({
      ...{
        pod: String(index),
        elapsed: 100,
        fastInMpi: null,
        waits: null,
        asleep: null,
        cpu: waited === null ? null : 100 * part,
        storage: 0,
        inMpi: 100 - 100 * (part + (waited ?? 0)),
      },
      shares: waited === null ? null : { ran: part, waited, threads: 1 },
    })),
    waited === null ? 'run_delay was not read' : null,
  )

/** All processes of the pod waited for storage. */
const stored = (seconds: number) => ({ seconds, atOnce: null })

const processors = (changes: Partial<PodTimes>, isLimit = false) =>
  processorFactors(
    [{ pod: '0', elapsed: 100, ran: 95, waited: 0, storage: stored(0), limit: null, ...changes }],
    isLimit,
  )

/** All was looked at, and the run came to its end. */
const SEEN: Pick<RunFacts, 'metrics' | 'looked' | 'completion'> = {
  metrics: ['vitals'],
  looked: { seen: ['processors', 'memory'], gaps: [] },
  completion: { state: 'finished', reason: null },
}

/** The calls of MPI were recorded until the end. */
const RECORDED = { elapsed: 60, seen: 60 }

const factsOf = (
  root: Factor,
  changes: Partial<RunFacts> = {},
  basis: 'mpi' | 'processors' = 'mpi',
): RunFacts => ({
  ...{ duration: 58.3, pods: 4, findings: [], ...SEEN },
  efficiency: {
    basis,
    root,
    size: 2,
    ...RECORDED,
    program: 'lmp',
    processes: [{ pod: '0' }, { pod: '1' }],
  },
  ...changes,
})

const verdictOf = (...words: Parameters<typeof factsOf>) => verdict(factsOf(...words))

/** The finding that the case of a rule makes. */
const found = (rule: keyof typeof CASES) => {
  const { changes, options } = CASES[rule]
  return findWith(changes, options).findings
}

t.test('a run of MPI that nothing held up', async (t) => {
  t.equal(
    verdictOf(mpi([0.9, 0.88], 0)),
    'Took 58.3 s on 2 MPI ranks in 2 pods. Nothing that vitals sees (processors, memory) held ' +
      'this run up: 89 % of the time was spent computing.',
  )
})

t.test(
  'an efficiency of some ranks says of how many, and is no verdict on the others',
  async (t) => {
    const processes = Array.from({ length: 782 }, (_, index) => ({ pod: String(index % 5) }))
    const root = mpi([0.9, 0.88], 0)
    t.equal(
      verdictOf(root, {
        efficiency: { ...RECORDED, basis: 'mpi', root, size: 840, processes, program: null },
      }),
      'Took 58.3 s on 840 MPI ranks. Efficiency 0.89 of the 782 recorded of 840 MPI ranks: ' +
        'threads that could run had a processor (platform 1.00).',
    )
  },
)

t.test('the worst factors are named, the worst first, and the best one', async (t) => {
  t.equal(
    verdictOf(mpi([0.45, 0.43], 0.5)),
    'Took 58.3 s on 2 MPI ranks in 2 pods. Efficiency 0.44: threads waited for a processor ' +
      '(platform 0.50); the work was even (load balance 0.98).',
  )
  t.equal(
    verdictOf(mpi([0.95, 0.4], 0)),
    'Took 58.3 s on 2 MPI ranks in 2 pods. Efficiency 0.68: the work was uneven (load balance ' +
      '0.71); threads that could run had a processor (platform 1.00).',
  )
  t.match(
    verdictOf(mpi([0.5, 0.25], 0)),
    /Efficiency 0\.38: much time was spent in MPI \(communication 0\.50\); the work was uneven \(/,
  )
})

t.test('a low product of good factors has its worst factor', async (t) => {
  t.match(
    verdictOf(mpi([0.95, 0.63], 0)),
    /Efficiency 0\.79: the work was uneven \(load balance 0\.83/,
  )
})

t.test('the findings name the reason for which threads waited', async (t) => {
  const textWith = (rule: keyof typeof CASES) =>
    verdictOf(mpi([0.45, 0.45], 0.5), { findings: found(rule) })
  t.match(textWith('waiting-for-cpu'), /: threads waited for a processor \(platform 0\.50\)/)
  t.match(textWith('throttled'), /: the CPU limit kept threads from running \(platform 0\.50\)/)
  t.match(textWith('pinned-to-same-core'), /: processes were bound to the same processor \(/)
  t.match(textWith('waiting-for-cpu'), /Worst finding: Waiting for a CPU \(pod 3, 36 s\)\.$/)
})

t.test('the pods are not counted if not all ranks were recorded', async (t) => {
  const root = mpi([0.9, 0.88], 0)
  const efficiency = { ...RECORDED, basis: 'mpi', root, size: 3, program: null } as const
  const textOn = (...pods: readonly string[]) =>
    verdictOf(efficiency.root, {
      efficiency: { ...efficiency, processes: pods.map((pod) => ({ pod })) },
    })
  t.match(textOn('0', '0', '1'), /^Took 58.3 s on 3 MPI ranks in 2 pods\. /)
  t.match(textOn('0', '0', '0'), /^Took 58.3 s on 3 MPI ranks in 1 pod\. /)
  t.match(textOn('0', '1'), /^Took 58.3 s on 3 MPI ranks\. /)
})

t.test('the worst finding names the rank for which others waited', async (t) => {
  const textWith = (rule: keyof typeof CASES) =>
    verdictOf(mpi([0.45, 0.45], 0.5), { findings: found(rule) })
  t.match(
    textWith('waiting-in-point-to-point'),
    /Waiting for a rank in point-to-point calls \(pod 3 waited for MPI rank 1, 48 s\)\.$/,
  )
  t.match(textWith('waiting-in-collectives'), / \(pod 3 waited for MPI rank 1, 36 s\)\.$/)
})

t.test('without the time of waiting, the sentence says so, and praises nothing', async (t) => {
  t.equal(
    verdictOf(mpi([0.95, 0.95], null)),
    'Took 58.3 s on 2 MPI ranks in 2 pods. Efficiency 0.95: the work was even (load balance ' +
      '1.00). The time of waiting for processors is not known and counts as computing or as ' +
      'time in MPI.',
  )
  t.match(
    verdictOf(mpi([0.5, 0.5], null)),
    /much time was spent in MPI \(communication and platform 0\.50\); the work was even/,
  )
})

t.test('a run without MPI', async (t) => {
  const textOf = (changes: Partial<PodTimes>) => verdictOf(processors(changes), {}, 'processors')
  t.equal(
    textOf({}),
    'Took 58.3 s on 4 pods. Nothing that vitals sees (processors, memory) held this run up: ' +
      '95 % of the time was spent computing.',
  )
  t.match(
    textOf({ ran: 50, waited: 48 }),
    /Efficiency 0\.50: threads waited for a processor \(plat/,
  )
  t.match(
    textOf({ ran: 50, storage: stored(45) }),
    /: the processes waited for storage \(storage 0\.55\); thr/,
  )
  t.match(
    textOf({ ran: 50 }),
    /Efficiency 0\.50: the processes were idle \(activity 0\.50\); threads that/,
  )
  t.match(
    textOf({ ran: 50, storage: null }),
    /: the processes were idle or waited for storage \(activ/,
  )
  const limit = processors({ ran: 50 }, true)
  t.match(
    verdictOf(limit, {}, 'processors'),
    /Efficiency at most 0\.50: the processes were idle \(activity 0\.50\); threads that/,
  )
  t.strictSame(factorLines(limit, []), [
    'Efficiency at most 0.50 = platform 1.00 × storage 1.00 × activity 0.50',
    'The other 50 % of the time or more: idle processes (activity)',
  ])
  t.equal(
    textOf({ ran: 50, waited: null }),
    'Took 58.3 s on 4 pods. Efficiency 0.50. The time of waiting for processors is not known.',
  )
})

t.test('an efficiency that is missing has its reason', async (t) => {
  const root = missingFactor('efficiency', 'the CPU time was not read')
  t.equal(
    verdictOf(root, { pods: 1 }, 'processors'),
    'Took 58.3 s on 1 pod. The efficiency is not known: the CPU time was not read.',
  )
})

t.test('a run that failed begins with the failure', async (t) => {
  const findings = found('oom-killed')
  t.match(
    verdictOf(mpi([0.9, 0.9], 0), { findings }),
    /^Took 58.3 s on 2 MPI ranks in 2 pods and failed\. Pod 3 had 2 of its processes in .*limit\. Efficiency 0\.90/,
  )
})

t.test('a good efficiency with a finding is not one that nothing held up', async (t) => {
  const text = verdictOf(mpi([0.9, 0.9], 0), { findings: found('throttled') })
  t.match(text, /Efficiency 0\.90: .* Worst finding: Throttled \(pod 3, 60 s\)\.$/)
  const risk = verdictOf(mpi([0.9, 0.9], 0), { findings: found('close-to-memory-limit') })
  t.match(
    risk,
    /Nothing that .* held this run up: .*\. Risk: Close to the memory limit \(pod 3\)\.$/,
  )
})

t.test('the length of a run has a unit that people read', async (t) => {
  const lengthOf = (duration: number) =>
    verdictOf(factor('efficiency', 0.9), { duration }).replace(/ on .*/, '')
  t.strictSame([4.567, 58.3, 600, 9000].map(lengthOf), [
    'Took 4.57 s',
    'Took 58.3 s',
    'Took 10 min',
    'Took 2 h 30 min',
  ])
  t.equal(lengthOf(0), 'Ran')
})

const gap = (what: string, facts: Partial<Gap> = {}): Gap => {
  return { what, how: null, pods: null, isOfTool: false, polled: null, ...facts }
}

const MPI_GAP = gap('waiting and hangs in MPI', {
  how: 'needs x',
  isOfTool: true,
  polled: 'MPI',
})

t.test('what was not looked at is named, with how it can be known', async (t) => {
  const gaps = [MPI_GAP, gap('storage', { pods: ['1', '2'] })]
  const looked = { seen: ['processors'], gaps }
  t.equal(
    verdictOf(processors({}), { looked, metrics: ['perf-sysstat', 'vitals'] }, 'processors'),
    'Took 58.3 s on 4 pods. Nothing that perf-sysstat and vitals see (processors) held this run ' +
      'up: a process of lmp ran for 95 % of the time. Not looked at: waiting and hangs in MPI ' +
      '(needs x), storage in pods 1-2.',
    'processes that wait in MPI run, too',
  )
})

t.test('areas that need the same annotation share it', async (t) => {
  const python = gap('waiting in Python', { how: 'needs x', isOfTool: true })
  const gaps = [MPI_GAP, python, gap('storage'), gap('memory')]
  t.match(
    verdictOf(processors({}), { looked: { seen: [], gaps } }, 'processors'),
    / Not looked at: waiting and hangs in MPI and waiting in Python \(needs x\), storage, memory\.$/,
  )
})

t.test('an annotation that was named is not named again', async (t) => {
  const python = gap('waiting in Python', { how: 'needs x', isOfTool: true })
  const looked = { seen: [], gaps: [MPI_GAP, python, gap('storage')] }
  const text = verdictOf(processors({}), { looked, completion: null }, 'processors')
  t.match(text, / were not looked at \(needs x\), and /)
  t.match(text, / Not looked at: waiting in Python \(needs the same annotation\), storage\.$/)
})

t.test('without a program that used nearly all CPU time, a process ran', async (t) => {
  const root = processors({})
  const efficiency = { ...factsOf(root).efficiency, basis: 'processors', program: null } as const
  const text = verdictOf(root, { looked: { seen: [], gaps: [MPI_GAP] }, efficiency })
  t.match(text, / held this run up: a process ran for 95 % of the time\. /)
})

t.test('what may hide a hang comes before all praise, unless the run finished', async (t) => {
  const looked = { seen: ['processors'], gaps: [MPI_GAP, gap('storage')] }
  const textOf = (changes: Partial<RunFacts>, root = processors({})) =>
    verdictOf(root, { looked, pods: 1, ...changes }, 'processors')
  const hidden =
    'progress is not known: waiting and hangs in MPI were not looked at (needs x), and a process ' +
    'that waits in MPI counts as running, so busy processors do not show progress.'
  const praise =
    'Nothing that vitals sees (processors) held this run up: a process of lmp ran for 95 % of ' +
    'the time. Not looked at: storage.'
  const unknown = { state: 'unknown', reason: '' } as const
  t.equal(
    textOf({ completion: unknown }),
    `Took 58.3 s on 1 pod. Whether the job made ${hidden} ${praise}`,
  )
  t.equal(
    textOf({ completion: null, span: 'so far' }),
    `Has taken 58.3 s so far on 1 pod. Whether the job makes ${hidden} ${praise}`,
  )
  const reason = 'The end of the log a.vitals.log is missing.'
  t.match(
    textOf({ completion: { state: 'unfinished', reason }, isCut: true }),
    / its end is not known\. The end of the log a\.vitals\.log is missing\. Whether the job made /,
  )
  t.match(
    textOf({ completion: unknown }, processors({ ran: 50, waited: 48 })),
    / do not show progress\. Efficiency 0\.50: threads waited for a processor /,
  )
  t.notMatch(textOf({}), 'Whether', 'a run that finished has short words')
  t.notMatch(textOf({ completion: null, isStuck: true }), 'Whether')
  t.match(
    textOf({
      completion: unknown,
      looked: { ...looked, gaps: [{ ...MPI_GAP, pods: ['1', '2'] }] },
    }),
    / in MPI were not looked at in pods 1-2 \(needs x\), and /,
  )
})

t.test('processes may still wait only if their end was not seen', async (t) => {
  const looked = { seen: [], gaps: [MPI_GAP] }
  const mayWait = (changes: Partial<RunFacts>) =>
    mayWaitNow(factsOf(processors({}), { looked, ...changes }, 'processors'))
  const unfinished = { state: 'unfinished', reason: '' } as const
  t.equal(mayWait({ completion: null }), true)
  t.equal(mayWait({ completion: unfinished, isCut: true }), true)
  const findings = found('container-failed')
  t.equal(mayWait({ completion: unfinished, isCut: true, findings }), false)
  t.equal(mayWait({ completion: unfinished }), false)
  t.equal(mayWait({ completion: null, looked: { seen: [], gaps: [] } }), false)
})

t.test('a run so far that makes no progress says so', async (t) => {
  const facts = { completion: null, span: 'so far', isStuck: true } as const
  t.match(verdictOf(mpi([0.9, 0.9], 0), facts), / so far on .* and makes no progress\. /)
})

t.test('a run that did not finish is not one that nothing held up', async (t) => {
  const completion = { state: 'unfinished', reason: 'MPI rank 1 called MPI_Abort.' } as const
  t.match(
    verdictOf(mpi([0.9, 0.9], 0), { completion }),
    /^Took 58.3 s on 2 MPI ranks in 2 pods and did not finish\. MPI rank 1 called MPI_Abort\. Efficiency 0\.90/,
  )
  const reason = 'The end of the log a.vitals.log is missing.'
  t.match(
    verdictOf(mpi([0.9, 0.9], 0), { completion: { state: 'unfinished', reason }, isCut: true }),
    /^Took at least 58.3 s on 2 MPI ranks in 2 pods; its end is not known\. The end of the log a\.vitals\.log is missing\. Nothing that vitals sees \(processors, memory\) held this run up until then: /,
  )
})

t.test('a run of which something was not seen has the worst verdict', async (t) => {
  const kindOf = (root: Factor, changes: Partial<RunFacts> = {}) =>
    verdictKind(factsOf(root, changes))
  const good = mpi([0.9, 0.9], 0)
  t.equal(kindOf(good), 'well')
  t.equal(kindOf(mpi([0.7, 0.7], 0)), 'inefficient')
  t.equal(kindOf(good, { findings: found('throttled') }), 'held-up')
  t.equal(kindOf(good, { findings: found('oom-killed') }), 'failed')
  const completion = { state: 'unfinished', reason: '' } as const
  t.equal(kindOf(good, { completion }), 'failed')
  t.equal(VERDICTS[0], 'partly-seen')
  const unseen: readonly Partial<RunFacts>[] = [
    { looked: { seen: [], gaps: [gap('storage')] } },
    { completion: { state: 'unknown', reason: '' } },
    { completion: null },
    { isCut: true },
  ]
  for (const changes of unseen)
    for (const findings of [[], found('throttled'), found('oom-killed')])
      t.equal(kindOf(good, { ...changes, findings }), 'partly-seen')
  t.equal(kindOf(missingFactor('efficiency', 'x')), 'partly-seen')
  t.equal(kindOf(mpi([0.9, 0.9], null)), 'partly-seen')
})
