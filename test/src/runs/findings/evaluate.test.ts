import t from 'tap'
import type { Findings } from '../../../../src/runs/findings/evaluate.ts'
import { EXPLANATIONS, RULES, type RuleName } from '../../../../src/runs/findings/rules.ts'
import type { Sample } from '../../../../src/runs/log/columns.ts'
import { busy, CASES, endedWith, findWith, PODS, pinned, rowsWith } from './cases.ts'
import { asVitals, findIn, inShort, LENGTH, podRows, type Sections } from './rows.ts'

/** The beginnings of the sentences that do not begin with the pod. */
const BEGINNINGS = new Map([['no-progress', /^Since 20 s after the start, MPI rank 0 waits/]])

t.test('a run of healthy pods has no finding, and all rules are checked', async (t) => {
  t.strictSame(findIn(PODS.flatMap((pod) => podRows(pod))), {
    findings: [],
    explained: [],
    notChecked: [],
  })
})

t.test('each rule makes the only finding about the pod of its case', async (t) => {
  t.strictSame(Object.keys(CASES).sort(), RULES.map(({ name }) => name).sort())
  for (const [name, { changes, options, below, belowOptions, lost }] of Object.entries(CASES)) {
    await t.test(name, async (t) => {
      const found = findWith(changes, options)
      t.strictSame(inShort(found), [`${name} 3`])
      const [finding] = found.findings
      const own = finding?.lost
      const isNear = Math.abs((own ?? 0) - (lost ?? 0)) <= 0.12 * (lost ?? 0)
      t.ok(isNear && (own === null) === (lost === null), `lost ${own} s, expected ${lost} s`)
      const fact = finding?.pods[0]?.facts[0]
      t.equal(fact?.unit, finding?.threshold.unit, 'the first fact has the unit of the threshold')
      t.ok((fact?.value ?? 0) >= (finding?.threshold.value ?? 0) || name === 'mostly-idle')
      t.match(finding?.sentence, BEGINNINGS.get(name) ?? /^Pod 3 /)
      const hasPlots = RULES.some((rule) => rule.name === name && rule.plots.length > 0)
      t.equal(finding?.plot !== null, hasPlots)
      t.strictSame(inShort(findWith(below, belowOptions)), [], 'no finding below the threshold')
    })
  }
})

t.test('vitals has the findings of the three metrics that it replaces', async (t) => {
  t.strictSame(findIn(asVitals(PODS.flatMap((pod) => podRows(pod)))).notChecked, [])
  for (const [name, { changes, options, below, belowOptions }] of Object.entries(CASES)) {
    const rows = rowsWith(changes, options)
    const find = (all: readonly Sample[]) => findIn(all, endedWith(options ?? {}))
    const three = withoutPlots(find(rows))
    t.strictSame(withoutPlots(find(asVitals(rows))), three, name)
    const both = [...rows, ...asVitals(rows).filter(({ metric }) => metric === 'vitals')]
    t.strictSame(withoutPlots(find(both)), three, `${name}, beside the three metrics`)
    t.strictSame(
      inShort(findIn(asVitals(rowsWith(below, belowOptions)), endedWith(belowOptions ?? {}))),
      [],
      `below ${name}`,
    )
    const [plot] = find(asVitals(rows)).findings.flatMap((one) => one.plot ?? [])
    const replaced = ['perf-sysstat', 'pressure', 'network']
    t.notOk(replaced.includes(plot?.metric ?? ''), `${name}: ${plot?.metric} is plotted`)
  }
})

/** Returns findings without their plots, which show the columns of different metrics. */
function withoutPlots({ findings, explained, notChecked }: Findings) {
  const all = findings.map((one) => {
    const pods = one.pods.map(({ stuck, ...pod }) => ({ ...pod, stuck: stuck?.document() }))
    return { ...one, pods, plot: null }
  })
  return { findings: all, explained, notChecked }
}

t.test('a column that vitals could not read is named with its metric', async (t) => {
  const rows = rowsWith({ container: { nr_periods: null } })
  const { notChecked } = findIn(asVitals(rows))
  const throttled = notChecked.find(({ rule }) => rule === 'throttled')
  t.equal(throttled?.reason, 'nr_periods of vitals could not be read')
})

t.test('findings are in the order of the time lost; failures first and risks last', async (t) => {
  const { throttled, swapping } = CASES
  const rows = [
    ...podRows('0', CASES['close-to-memory-limit'].changes),
    ...podRows('1', swapping.changes),
    ...podRows('2', throttled.changes),
    ...podRows('3', CASES['oom-killed'].changes),
    ...podRows('4', CASES['waiting-for-storage'].changes),
    ...podRows('5'),
  ]
  t.strictSame(inShort(findIn(rows)), [
    'oom-killed 3',
    'throttled 2',
    'swapping 1',
    'waiting-for-storage 4',
    'close-to-memory-limit 0',
  ])
})

t.test('one finding names all of its pods, the worst first', async (t) => {
  const throttled = (part: number): Sections => ({
    container: { nr_periods: 10, nr_throttled: 8, throttled: part, cpu_usage: 1 - part },
    process: { run_delay: part, cpu_time: 1 - part },
    perf: { percent_cpu: 100 * (1 - part) },
  })
  const { findings } = findIn([
    ...podRows('0'),
    ...podRows('1', throttled(0.3)),
    ...podRows('2', throttled(0.6)),
    ...podRows('3', throttled(0.4)),
  ])
  t.equal(findings.length, 1)
  t.strictSame(
    findings[0]?.pods.map(({ pod }) => pod),
    ['2', '3', '1'],
  )
  t.match(findings[0]?.sentence, /^Pod 2 was throttled for 60 % of the time .* It lost 72 s\./)
  t.match(findings[0]?.sentence, /The same is true of pods 1, 3\.$/)
})

t.test('the finding that names the cause is made, and not its consequences', async (t) => {
  const names = RULES.map(({ name }) => name)
  for (const { by, rules } of EXPLANATIONS)
    for (const other of rules)
      t.ok(names.indexOf(by.name) < names.indexOf(other), `${by.name} is checked before ${other}`)
  const { findings, explained } = findWith(CASES.throttled.changes)
  t.strictSame(inShort({ findings, explained, notChecked: [] }), ['throttled 3'])
  // The pod waits on a run queue only while it is throttled, and this time is subtracted.
  t.strictSame(explained, [])
  const slow = findWith({
    container: { nr_periods: 10, nr_throttled: 5, throttled: 0.3, cpu_usage: 0.3 },
    process: { run_delay: 0.7, cpu_time: 0.3 },
    perf: { percent_cpu: 30 },
  })
  t.strictSame(inShort(slow), ['throttled 3'])
  t.match(slow.explained, [{ rule: 'waiting-for-cpu', pods: ['3'], by: 'throttled' }])
})

t.test('the pods that wait for an overloaded pod are not called idle', async (t) => {
  const rows = PODS.flatMap((pod) => podRows(pod, busy(pod === '1' ? 0.95 : 0.05)))
  const found = findIn(rows)
  t.strictSame(inShort(found), ['more-work 1'])
  t.match(found.explained, [{ rule: 'mostly-idle', pods: ['0', '2', '3', '4'], by: 'more-work' }])
  t.match(
    found.findings[0]?.sentence,
    /^Pod 1 used 114 s of CPU time in lmp, 1800 % more than the median of the pods, 6 s; /,
  )
})

t.test('a small finding does not explain a large one', async (t) => {
  const { findings, explained } = findWith({
    container: { nr_periods: 10, nr_throttled: 3, throttled: 0.02, cpu_usage: 0.4 },
    process: { run_delay: 0.5, cpu_time: 0.4 },
    perf: { percent_cpu: 40 },
  })
  t.strictSame(inShort({ findings, explained, notChecked: [] }), [
    'waiting-for-cpu 3',
    'throttled 3',
  ])
  const short = { container: { nr_periods: 10, nr_throttled: 3, throttled: 0.02, cpu_usage: 0.9 } }
  const found = findIn([...podRows('0', busy(0.02)), ...podRows('5', short)])
  t.strictSame(inShort(found), ['throttled 5', 'mostly-idle 0'])
})

t.test('a rule that was checked for some things only names the others', async (t) => {
  const of = (container: string, cells: object) =>
    podRows('0', {}, { only: ['container'] }).map((row) => ({ ...row, container, ...cells }))
  const denied = { nr_periods: null, nr_throttled: null, throttled: null, cpu_usage: null }
  const both = [...of('a', {}), ...of('b', denied)].sort((a, b) => a.seconds - b.seconds)
  t.match(
    findIn(both).notChecked.find(({ rule }) => rule === 'throttled'),
    { reason: /^nr_periods, .* of pressure could not be read for container b$/, pods: null },
  )
  const crowded = { process: { run_delay: null, cpu_time: 0.9 } }
  const rows = podRows('0', crowded, { others: [{}] }).map((row) =>
    row.pid === 101 ? { ...row, program: 'sh' } : row,
  )
  t.match(
    findIn(rows).notChecked.find(({ rule }) => rule === 'waiting-for-cpu'),
    { reason: 'run_delay of pressure could not be read for lmp' },
  )
})

t.test('two pods are too few to say that one has more work', async (t) => {
  t.strictSame(inShort(findIn([...podRows('0'), ...podRows('1', busy(1.9))])), [])
})

t.test('a launcher that hardly computes while other pods compute has no finding', async (t) => {
  const launcher = podRows('9', busy(0.01)).map((row) => ({ ...row, program: 'mpirun' }))
  const found = findIn([...launcher, ...podRows('0'), ...podRows('1')])
  t.strictSame(inShort(found), [])
})

t.test('if no pod computes, all pods are called idle', async (t) => {
  const rows = ['0', '1'].flatMap((pod) => podRows(pod, busy(0.01)))
  t.strictSame(inShort(findIn(rows)), ['mostly-idle 0, 1'])
})

t.test('processes are pinned to the same core only if they run on the same node', async (t) => {
  const on = (first: string, second: string) =>
    inShort(
      findIn([
        ...podRows('0', pinned(0.475), { node: first }),
        ...podRows('1', pinned(0.475), { node: second }),
      ]),
    )
  t.strictSame(on('node-1', 'node-1'), ['pinned-to-same-core 0, 1'])
  // On different nodes, the rows show that the processes waited, but not for which process.
  t.strictSame(on('node-1', 'node-2'), ['waiting-for-cpu 0, 1'])
})

t.test('processes that may run on all processors of their node are not pinned', async (t) => {
  const shared: Sections = {
    process: { run_delay: 0.3, cpu_time: 0.65 },
    placement: { cpus_allowed: '0-1', cpus_allowed_count: 2, pss: 1024 },
  }
  const rows = podRows('0', shared, { others: [shared, shared] })
  t.strictSame(inShort(findIn(rows)), ['waiting-for-cpu 0'])
})

t.test('with hostNetwork, the finding about retransmissions is about the node', async (t) => {
  const { findings } = findWith({ tcp: { scope: 'node', retransmitted: 15, timeouts: 0.5 } })
  t.match(findings, [{ rule: 'retransmissions', scope: 'node' }])
  t.match(findings[0]?.sentence, /^The node of pod 3 sent 1\.5 % .* share this number\.$/)
})

t.test('a process that sends data only to its own pod is not network-bound', async (t) => {
  const found = findWith({ ...busy(0.2), socket: { peer: 'pod', send_queue: 100_000 } })
  t.strictSame(inShort(found), [])
})

t.test('the growth of a counter includes its growth before it fell to zero', async (t) => {
  const rows = podRows('0', CASES.throttled.changes)
  const restarted = rows.map((row) => {
    const isLate = row.section === 'container' && row.seconds > 60
    if (!isLate) return row
    const names = ['nr_periods', 'nr_throttled', 'throttled', 'cpu_usage']
    const now = names.map((name) => [name, (Number(row[name]) * (row.seconds - 60)) / row.seconds])
    return { ...row, ...Object.fromEntries(now) }
  })
  const [before] = findIn(rows).findings
  const [after] = findIn(restarted).findings
  t.equal(after?.rule, 'throttled')
  t.ok(Math.abs((after?.lost ?? 0) - (before?.lost ?? 0)) < 1, `${after?.lost}, ${before?.lost}`)
})

t.test('the counters of a process that starts after the first sample begin at zero', async (t) => {
  const waiting = { process: { run_delay: 0.3, cpu_time: 0.65 } }
  const late = podRows('0', {}, { others: [waiting] }).filter(
    ({ pid, seconds }) => pid === 100 || seconds >= 30,
  )
  const [finding] = findIn(late).findings
  t.equal(finding?.rule, 'waiting-for-cpu')
  t.ok(Math.abs((finding?.lost ?? 0) - 0.3 * LENGTH) < 6, `${finding?.lost} s`)
})

t.test('without pressure, perf-sysstat shows that a pod waited, but not why', async (t) => {
  const waiting = { perf: { percent_wait: 79, percent_cpu: 14 } }
  const only = ['perf'] as const
  const { findings } = findIn([...podRows('0', waiting, { only }), ...podRows('1', {}, { only })])
  t.match(findings, [{ rule: 'waiting-for-cpu', plot: { column: 'percent_wait' } }])
  t.match(
    findings[0]?.sentence,
    /^Pod 0 waited for a CPU for 79 % .* or had used up the CPU limit \(the metric/,
  )
  // With pressure, throttling is subtracted, and the pod waited for nothing else.
  const known = { ...CASES.throttled.changes, perf: { percent_wait: 50, percent_cpu: 50 } }
  t.strictSame(inShort(findIn(podRows('0', known))), ['throttled 0'])
})

t.test('a rule whose metric was not collected is listed as not checked', async (t) => {
  const only = ['perf', 'tcp', 'socket'] as const
  const { notChecked, findings } = findIn(PODS.flatMap((pod) => podRows(pod, {}, { only })))
  t.strictSame(findings, [])
  const reasonOf = (rule: RuleName) => notChecked.find((one) => one.rule === rule)
  t.match(reasonOf('throttled'), { reason: 'metric pressure was not collected', pods: null })
  t.equal(reasonOf('waiting-for-storage'), undefined, 'perf-sysstat is enough')
  t.equal(reasonOf('more-work'), undefined)
  t.equal(
    findIn(podRows('0', {}, { only: ['container'] })).notChecked.find(
      ({ rule }) => rule === 'network-bound',
    )?.reason,
    'metric network was not collected',
  )
})

t.test('a rule whose columns could not be read is not checked', async (t) => {
  const old = {
    container: { memory_some: null, memory_full: null, io_full: null, io_some: null },
    perf: { iodelay: null },
  }
  const { notChecked } = findIn([...podRows('0', old), ...podRows('1', old)])
  t.strictSame(
    notChecked.map(({ rule, reason, pods }) => [rule, reason, pods]),
    [
      ['memory-pressure', 'memory_some of pressure could not be read', null],
      [
        'waiting-for-storage',
        'io_full of pressure could not be read, and iodelay of perf-sysstat could not be read',
        null,
      ],
    ],
  )
  const [one] = findIn([...podRows('0', old), ...podRows('1')]).notChecked
  t.strictSame(one?.pods, ['0'], 'only the pod whose columns could not be read is named')
})

t.test('of 4,096 pods, exactly the three throttled ones are found', async (t) => {
  const slow = [5, 1717, 4000]
  const only = ['container', 'process', 'perf'] as const
  const rows = Array.from({ length: 4096 }, (_, pod) => {
    const changes = slow.includes(pod) ? CASES.throttled.changes : {}
    return podRows(String(pod), changes, { only, node: `node-${pod >> 6}` })
  })
  t.strictSame(inShort(findIn(rows.flat())), ['throttled 1717, 4000, 5'])
})

t.test('a rule that was not checked for a pod makes no finding about it', async (t) => {
  const { 'waiting-in-python': waiting } = CASES
  const found = findWith({ ...waiting.changes, python: { main_running: null } })
  t.strictSame(inShort(found), [])
  t.match(
    found.notChecked.filter(({ rule }) => rule === 'waiting-in-python'),
    [{ pods: ['3'] }],
  )
})
