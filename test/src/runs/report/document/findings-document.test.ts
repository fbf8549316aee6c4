import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import type { Entry } from '../../../../../src/runs/log/entry.ts'
import { parseEntry } from '../../../../../src/runs/log/parse.ts'
import { readLog } from '../../../../../src/runs/log/read.ts'
import { addEntry, newRun } from '../../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'
import { mpiLines, runOf } from '../../metrics/mpi-trace/mpi-rows.ts'
import { endRow, nowRow, STACKS } from '../../metrics/python-profile/python-rows.ts'
import { traceLine } from '../../metrics/torch-trace/trace-rows.ts'
import { documentOf } from '../document-of.ts'

// Findings in logs of real runs, each with one kind of load, observed by perf-sysstat and pressure.

type Kind = 'lammps' | 'throttled' | 'crowded' | 'memory' | 'storage' | 'healthy'

/** Reads the logs of both metrics of these runs, as pods of one workload. */
function findIn(...kinds: readonly Kind[]) {
  const run = newRun(BUILT_IN_ROWS)
  for (const kind of kinds) {
    for (const metric of ['pressure', 'perf-sysstat']) {
      const name = `${metric}-${kind}.log`
      const text = readFileSync(
        new URL(`../../../../logs/findings/${name}`, import.meta.url),
        'utf8',
      )
      for (const entry of readLog(text, { source: name }, BUILT_IN_ROWS)) addEntry(run, entry)
    }
  }
  return documentOf(run, 'recorded')
}

type Found = Pick<ReturnType<typeof findIn>, 'findings'>

const inShort = ({ findings }: Found) =>
  findings.map(({ rule, pods }) => `${rule} ${pods.map(({ podIndex }) => podIndex).join(', ')}`)

const factIn = ({ findings }: Found, name: string) =>
  Number(findings[0]?.pods[0]?.facts.find((fact) => fact.name === name)?.value)

t.test('LAMMPS with two ranks and a limit of one CPU is throttled half of the time', async (t) => {
  const found = findIn('lammps')
  t.strictSame(inShort(found), ['throttled 0'])
  // The observer's last row: 19.05 s throttled, summed over two processors, and 20.14 CPU seconds.
  const share = factIn(found, 'time throttled')
  t.ok(Math.abs(share - (100 * 19.05) / (19.05 + 20.14)) < 1, `throttled for ${share} %`)
  t.equal(factIn(found, 'CPU limit'), 1)
  const lost = found.findings[0]?.secondsLost ?? 0
  t.ok(lost > 9 && lost < 10.5, `${lost} s of 20 s lost`)
})

t.test('each pod that is held up gets its finding and no other', async (t) => {
  const found = findIn('healthy', 'throttled', 'crowded', 'memory', 'storage')
  t.strictSame([...inShort(found)].sort(), [
    'close-to-memory-limit 3',
    'pinned-to-same-core 2',
    'throttled 1',
    'waiting-for-storage 4',
  ])
  const crowded = found.findings.find(({ rule }) => rule === 'pinned-to-same-core')
  t.match(
    crowded?.sentence,
    /perl \(PID \d+\), perl \(PID \d+\) may only run on the same 1 processor\./,
  )
  t.ok(Math.abs((crowded?.secondsLost ?? 0) - 9.9) < 1, `${crowded?.secondsLost} s lost`)
})

t.test('a healthy pod gets no finding', async (t) => {
  const { findings, notChecked } = findIn('healthy')
  t.strictSame(findings, [])
  const reasons = new Map(notChecked.map(({ rule, reason }) => [rule, reason]))
  t.equal(reasons.get('memory-pressure'), 'memory_some of pressure could not be read')
  t.equal(reasons.get('retransmissions'), 'metric network was not collected')
  t.equal(reasons.get('throttled'), undefined)
})

t.test('a notice says how many processes of MPI did not fit', async (t) => {
  const size = 20_001
  const process = (pod: string, first: number, count: number) =>
    Array.from({ length: count }, (_, index) => {
      return { pod, pid: index + 1, rank: first + index, size }
    })
  const { pods, notices } = documentOf(
    runOf([...process('0', 0, 12_000), ...process('1', 12_000, 8001)]),
    '',
  )
  t.strictSame(
    pods.map(({ mpi_ranks: own, omitted_mpi_ranks: omitted }) => [own?.length, omitted]),
    [
      [12_000, undefined],
      [8000, 1],
    ],
  )
  const notice = 'mpi_ranks: 1 process of MPI did not fit into the report. The first ones are kept.'
  t.ok(notices.includes(notice), notices.join('\n'))
})

/** The lines of a process at a timepoint, in its second collective call since 20 s, or stopped. */
function openLines(rank: number, timepoint: number, isStopped: boolean): readonly string[] {
  const [line = ''] = mpiLines({ rank, size: 2, state: 'running', timepoint })
  const { mpi_size, job, ...row } = JSON.parse(line)
  const call = isStopped ? {} : { call: 'MPI_Barrier', communicator: 'world', number: 2 }
  const state = { process_state: isStopped ? 'stopped' : 'running', cpu_time: 1 }
  const elapsed = 10 * timepoint
  const own = { ...row, mpi_size, job, thread: 100, elapsed, longest_gap: 0.5, since: 20 }
  const begun = { communicator: 'world', size: 2, begun: isStopped ? 1 : 2 }
  const rows = [
    { ...own, section: 'open', ...call, ...state },
    { ...row, section: 'progress', ...begun },
  ]
  return [line, ...rows.map((one) => JSON.stringify(one))]
}

t.test('the processes that make no progress are named for programs', async (t) => {
  const run = newRun(BUILT_IN_ROWS)
  const lines = [3, 4].flatMap((timepoint) => [
    ...openLines(0, timepoint, false),
    ...openLines(1, timepoint, true),
  ])
  for (const line of lines) addEntry(run, parseEntry(line, BUILT_IN_ROWS) as Entry)
  const { findings } = documentOf(run, 'stopped')
  const found = findings.find(({ rule }) => rule === 'no-progress')
  t.strictSame(found?.stuck, {
    why: 'late',
    waiting: [
      {
        ...{ podIndex: '0', mpiRank: 0, call: 'MPI_Barrier', communicator: 'world', number: 2 },
        ...{ mpiPeer: null, sinceSeconds: 20, seconds: 20 },
      },
    ],
    late: [
      {
        ...{ podIndex: '1', mpiRank: 1, activity: 'stopped', end: null, call: null },
        ...{ pythonLine: null, seconds: 20 },
      },
    ],
    unrecorded: 0,
    longestGapSeconds: 0.5,
  })
})

t.test('the lines of Python that make no progress are named for programs', async (t) => {
  const run = newRun(BUILT_IN_ROWS)
  const waits = { index: '0', pid: 70, stack: STACKS.waits, unchanged: 70 }
  const asks = { index: '1', pid: 70, stack: STACKS.asks, unchanged: 80 }
  const worker = { index: '1', pid: 71, stack: STACKS.worker, unchanged: 80 }
  for (const shape of [waits, asks, worker]) {
    addEntry(run, { ...endRow(100, shape.index, shape.pid), state: 'running' } as Entry)
    addEntry(run, nowRow(100, shape) as Entry)
  }
  const { findings } = documentOf(run, 'stopped')
  const process = { program: 'train.py', activity: 'waiting' }
  t.strictSame(findings.find(({ rule }) => rule === 'no-progress')?.stuck, {
    why: 'python-late',
    waiting: [
      {
        ...{ podIndex: '0', ...process, pid: 70, seconds: 70 },
        pythonLine: 'all_reduce (torch/distributed/distributed_c10d.py:2810)',
      },
    ],
    late: [
      {
        ...{ podIndex: '1', ...process, pid: 70, seconds: 80 },
        pythonLine: 'Queue.get (multiprocessing/queues.py:103)',
        loaders: [
          {
            ...{ podIndex: '1', ...process, pid: 71, seconds: 80 },
            pythonLine: 'load (data.py:14)',
          },
        ],
      },
    ],
    unrecorded: null,
    longestGapSeconds: 0,
  })
})

const NCCL_LOGS = new URL('../../../../logs/nccl-python/', import.meta.url)

/** Reads the logs of these metrics of one pod, in which a batch never comes. */
function reportOfHung(...metrics: readonly string[]) {
  const run = newRun(BUILT_IN_ROWS)
  for (const metric of metrics) {
    const text = readFileSync(new URL(`train.${metric}.log`, NCCL_LOGS), 'utf8')
    const place = {
      source: `ml/train-0/${metric}`,
      namespace: 'ml',
      pod: 'train-0',
      pod_index: '0',
    }
    for (const entry of readLog(text, { ...place, metric, node: null }, BUILT_IN_ROWS))
      addEntry(run, entry)
  }
  return documentOf(run, 'recorded')
}

const NCCL_WAITS =
  'Since 40 s after the start, 1 rank waits in AllReduce number 6 of the NCCL communicator ' +
  'ae94423cfbb2ef4a of 2 ranks. NCCL rank 1 (pod 0) has not come: its process sleeps in a ' +
  'system call'

t.test('nccl-ras, python-profile and vitals of one pod are one report', async (t) => {
  const all = readdirSync(NCCL_LOGS).map((name) => name.split('.')[1] ?? '')
  t.equal(all.length, 3)
  const { findings, pods } = reportOfHung(...all)
  const found = findings.filter(({ rule }) => rule === 'no-progress')
  t.match(found, [
    {
      sentence: `${NCCL_WAITS} in load_batch (/tmp/rec/app/data.py:6).`,
      stuck: { late: [{ ncclRank: 1, program: 'train.py', pythonLine: /^load_batch / }] },
    },
  ])
  t.strictSame(
    pods.map(({ podIndex }) => podIndex),
    ['0'],
  )
  const [late] = pods[0]?.programs.filter(({ program }) => program === 'train.py') ?? []
  t.ok(late, 'vitals has the process')
})

t.test('without python-profile, the line is missing', async (t) => {
  const [found] = reportOfHung('nccl-ras', 'vitals').findings
  t.equal(found?.sentence, `${NCCL_WAITS}.`)
})

t.test('the traces of PyTorch have their pods and the paths of their files', async (t) => {
  const run = newRun(BUILT_IN_ROWS)
  const rows = [
    { index: 0, worldRank: 1, pid: 71, trace: 'missing' },
    { index: 0, worldRank: 0, pid: 70, trace: 'complete' },
  ] as const
  for (const line of rows.map(traceLine)) {
    const entry = parseEntry(line, BUILT_IN_ROWS)
    if (entry !== undefined) addEntry(run, entry)
  }
  const document: Readonly<Record<string, unknown>> = documentOf(run, 'traces')
  const { traces, omitted_traces, sections } = document
  t.match(traces, [
    {
      podIndex: '0',
      worldRank: 0,
      pid: 70,
      path: 'job-0/torch-trace/trace_70.json',
      bytes: 482_180,
    },
    { podIndex: '0', worldRank: 1, pid: 71, path: null, file: null },
  ])
  t.equal(omitted_traces, 0)
  t.strictSame(sections, [], 'traces are not lines over time')
  t.notOk('traces' in findIn('healthy'))
})
