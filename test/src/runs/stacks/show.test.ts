import t from 'tap'
import { relevantFrames } from '../../../../src/runs/stacks/groups.ts'
import type { AskedPod } from '../../../../src/runs/stacks/members.ts'
import { readPodStacks } from '../../../../src/runs/stacks/pod-stacks.ts'
import { showStacks } from '../../../../src/runs/stacks/show.ts'
import { answerOf, type ProcessShape } from './answers.ts'

const OPTIONS = { all: false, full: false, native: false, format: 'text', width: 80 } as const

function podOf(number: number, processes: readonly ProcessShape[]): AskedPod {
  const answer = readPodStacks(answerOf(processes)) ?? { why: 'not valid' }
  return { pod: `lammps-${number}-abcde`, pod_index: `${number}`, answer }
}

function linesOf(pods: readonly AskedPod[], options = {}): readonly string[] {
  const { output } = showStacks(pods, { ...OPTIONS, ...options })
  return 'lines' in output ? output.lines : []
}

const WAITING = ['_start', '[libc.so.6]', 'main', 'run', 'PMPI_Allreduce', 'opal_progress', 'poll']
const READING = ['_start', '[libc.so.6]', 'main', 'read_input', 'read']

t.test('the ranks in the same function of MPI are a group, wherever it is', (t) => {
  const processOf = (rank: number): ProcessShape => {
    const stack = rank === 3 ? READING : WAITING.slice(0, WAITING.length - (rank % 2))
    return { pid: 20 + rank, rank, threads: [{ stack }] }
  }
  const pods = [podOf(0, [0, 1, 2, 3].map(processOf)), podOf(1, [4, 5, 6, 7].map(processOf))]
  t.strictSame(linesOf(pods), [
    'ranks 0-7 (8 ranks): main',
    '├─ ranks 0-2, 4-7 (7 ranks): run > MPI_Allreduce',
    '└─ rank 3: read_input > read',
  ])
  const whole = linesOf(pods, { full: true })
  t.ok(
    whole.some((line) => /_start > \[libc.so.6\] > main$/.test(line)),
    whole.join('\n'),
  )
  t.ok(whole.some((line) => line.includes('opal_progress')))
  const { output } = showStacks(pods, { ...OPTIONS, format: 'json' })
  const groups = JSON.parse('document' in output ? output.document : '')
  t.match(groups, [
    { ranks: [0, 1, 2, 4, 5, 6, 7], why: null },
    {
      ranks: [3],
      stack: [{ function: 'main' }, { function: 'read_input' }, { function: 'read' }],
    },
  ])
  t.match(groups[0].threads[3], { pod: 'lammps-1-abcde', pid: 24, program: 'lmp', state: 'sleeps' })
  t.end()
})

t.test('a stack that others continue is named', (t) => {
  const threads = (stack: readonly string[]) => [{ stack }]
  const processes = [
    { pid: 1, rank: 0, threads: threads(['main', 'run']) },
    { pid: 2, rank: 1, threads: threads(['main', 'run', 'pack']) },
  ]
  t.strictSame(linesOf([podOf(0, processes)]), [
    'ranks 0-1: main > run',
    '├─ rank 0: in run',
    '└─ rank 1: pack',
  ])
  t.end()
})

t.test('the stack of a rank with Python is that of Python, unless native ones are wanted', (t) => {
  const main = '<module> (train.py:40)'
  const late = { pid: 11, rank: 1, threads: [{ python: [main, 'load_batch (data.py:41)'] }] }
  const others = [0, 2].map((rank) => {
    const python = [main, 'step (train.py:12)']
    return { pid: 10 + rank, rank, threads: [{ python, stack: ['main', 'Py_RunMain', 'poll'] }] }
  })
  const pods = [podOf(0, [...others, late])]
  t.strictSame(linesOf(pods), [
    'ranks 0-2 (3 ranks): <module> (train.py:40)',
    '├─ ranks 0, 2: step (train.py:12)',
    '└─ rank 1: load_batch (data.py:41)',
  ])
  t.equal(showStacks(pods, OPTIONS).isWhole, true)
  const native = linesOf(pods, { native: true, width: 1000 })
  t.strictSame(native, [
    'ranks 0, 2: main > Py_RunMain > poll',
    'rank 1: sleeps; no stack: a signal would end this call, so the thread was not asked',
  ])
  const { output } = showStacks(pods, { ...OPTIONS, format: 'json' })
  t.match(JSON.parse('document' in output ? output.document : ''), [
    { ranks: [0, 2], is_python: true, why: null },
    { ranks: [1], is_python: true, stack: [{}, { function: 'load_batch (data.py:41)' }] },
  ])
  t.end()
})

t.test('a process without a stack has a reason', (t) => {
  const pods = [
    podOf(0, [{ pid: 1, rank: 0, threads: [{ call: 'poll' }] }]),
    podOf(1, [{ pid: 1, rank: 1, threads: [{ state: 'runs', why: 'the program is static' }] }]),
    { pod: 'lammps-2-abcde', pod_index: '2', answer: { why: 'the pod has ended' } },
  ]
  t.strictSame(linesOf(pods, { width: 1000 }), [
    'rank 0: sleeps in poll; no stack: a signal would end this call, so the thread was not asked',
    'rank 1: runs; no stack: the program is static',
    'pod 2: the pod has ended',
  ])
  t.equal(showStacks(pods, OPTIONS).isWhole, false)
  t.equal(showStacks(pods.slice(0, 1), OPTIONS).isWhole, true)
  t.end()
})

t.test('the process that a shell waits for stands for its rank, and not its helpers', (t) => {
  const processes: readonly ProcessShape[] = [
    { pid: 1, program: 'mpirun', threads: [{ call: 'poll' }] },
    { pid: 2, parent: 1, program: 'sh', rank: 0, threads: [{ stack: ['main'], call: 'wait' }] },
    { pid: 3, parent: 2, rank: 0, threads: [{ stack: ['main', 'run'] }] },
    { pid: 4, parent: 3, rank: 0, threads: [{ call: 'poll' }] },
  ]
  const { notices } = showStacks([podOf(0, processes)], OPTIONS)
  t.strictSame(linesOf([podOf(0, processes)]), ['rank 0: main > run'])
  t.match(notices, [/^3 processes are not shown/])
  t.equal(showStacks([podOf(0, processes)], { ...OPTIONS, all: true }).notices.length, 0)
  t.end()
})

t.test('without ranks, the pods are named', (t) => {
  const threads = [{ stack: ['main', 'serve'] }]
  const one = podOf(0, [{ pid: 7, threads }])
  const two = podOf(1, [
    { pid: 8, threads },
    { pid: 9, threads: [...threads, { id: 10, stack: ['[libc.so.6]', 'work'] }] },
  ])
  t.strictSame(linesOf([one, two]), [
    'pods 0, 1/8, 1/9 (3 processes): main > serve',
    'pod 1/9: work',
  ])
  const others = [one, podOf(1, [{ pid: 7, threads }]), podOf(2, [{ pid: 7, threads }])]
  t.strictSame(linesOf(others), ['pods 0-2 (3 pods): main > serve'])
  t.end()
})

t.test('long and hostile stacks fit into the width', (t) => {
  const name = `evil\u001b[2J\n${'x'.repeat(5000)}`
  const stack = ['main', name, ...Array.from({ length: 250 }, (_, at) => `f${at}`)]
  const lines = linesOf([podOf(0, [{ pid: 1, rank: 0, threads: [{ stack, cut: true }] }])])
  t.match(lines[0], /^rank 0: \.\.\. > main/)
  t.ok(lines.join('').includes('functions)'))
  t.ok(
    lines.every((line) => line.length <= 140),
    `${Math.max(...lines.map((l) => l.length))}`,
  )
  t.equal(readPodStacks('{"stacks":1,"functions":[]}\n'), undefined)
  t.equal(readPodStacks('{"stacks":2,"functions":[]}\n{"end":true}\n'), undefined)
  const odd =
    '{"stacks":1,"functions":[5]}\n{"pid":"x","threads":[{"frames":[0,9,-1]}]}\n{"end":true}'
  const read = [{ native: { frames: [{ function: '?' }] }, python: undefined }]
  t.match(readPodStacks(odd)?.processes[0], { pid: 0, threads: read })
  t.end()
})

t.test('frames of the recorder are left out', (t) => {
  const frame = (name: string, library: string) => ({ function: name, library })
  const frames = [
    frame('main', 'app'),
    frame('[libridealong-mpi.so]', 'libridealong-mpi.so'),
    frame('PMPI_Recv', 'libmpi.so.40'),
  ]
  const names = relevantFrames(frames).map((shown) => shown.function)
  t.strictSame(names, ['main', 'MPI_Recv'])
  t.end()
})

t.test('a thousand ranks are merged at once', (t) => {
  // Each rank is in one of 20 stacks of 60 functions.
  const stackOf = (rank: number) => [
    'main',
    ...Array.from({ length: 58 }, (_, at) => `step_${at}_${at < 30 ? 0 : rank % 20}`),
    'MPI_Wait',
  ]
  const texts = Array.from({ length: 125 }, (_, number) =>
    answerOf(
      Array.from({ length: 8 }, (_, at) => {
        const rank = number * 8 + at
        return { pid: 20 + at, rank, threads: [{ stack: stackOf(rank) }] }
      }),
    ),
  )
  const begun = performance.now()
  const pods = texts.map((text, number): AskedPod => {
    return {
      pod: `p-${number}`,
      pod_index: `${number}`,
      answer: readPodStacks(text) ?? { why: '' },
    }
  })
  const lines = linesOf(pods)
  t.comment(`${(performance.now() - begun).toFixed(0)} ms`)
  t.match(lines[0], /^ranks 0-999 \(1000 ranks\): main > step_0_0/)
  t.equal(lines.filter((line) => /^[├└]/.test(line)).length, 20)
  t.end()
})
