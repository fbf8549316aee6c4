import t from 'tap'
import type { Sample } from '../../../../../src/runs/log/columns.ts'
import { addCurrentStack } from '../../../../../src/runs/metrics/python-profile/current-stacks.ts'
import { countedPython } from '../../../../../src/runs/metrics/python-profile/python-progress.ts'
import {
  describePython,
  describePythonNow,
} from '../../../../../src/runs/metrics/python-profile/python-text.ts'
import { findStuckPython } from '../../../../../src/runs/metrics/python-profile/stuck-python.ts'
import {
  type CurrentStacks,
  joinStacks,
  type PythonProcess,
} from '../../../../../src/runs/waiting/current-stacks.ts'
import { endOf, findIn } from '../../findings/rows.ts'
import { endRow, nowRow, type Shape, STACKS } from './python-rows.ts'

/** The healthy rows of the processes before. */
function before(shapes: readonly Shape[]): readonly Sample[] {
  return [0, 10].flatMap((seconds) =>
    shapes.flatMap((shape) => [
      nowRow(seconds, { ...shape, stack: STACKS.computes, unchanged: 0 }),
      { ...endRow(seconds, shape.index, shape.pid), state: 'running' } as Sample,
    ]),
  )
}

function findingsOf(shapes: readonly Shape[], rows: readonly Sample[] = [], exitCode?: number) {
  const all = [...before(shapes), ...rows, ...shapes.map((shape) => nowRow(600, shape))]
  const ended = exitCode === undefined ? [] : [endOf({ exitCode })]
  const sorted = all.sort((a, b) => a.seconds - b.seconds)
  return findIn(sorted, () => ended).findings.filter(({ rule }) => rule === 'no-progress')
}

const isFound = (...shapes: readonly Shape[]) => findingsOf(shapes).length > 0
const waits = (index: string, unchanged = 130): Shape => ({ index, stack: STACKS.waits, unchanged })
const loads = (index: string, unchanged = 130): Shape => ({ index, stack: STACKS.loads, unchanged })

t.test('the finding names the ranks that wait, and the line of the late one', async (t) => {
  const [finding] = findingsOf([waits('0'), waits('1', 120), waits('2'), loads('3', 140)])
  t.equal(
    finding?.sentence,
    'Since 7 min 50 s after the start, pods 0-2 wait in all_reduce ' +
      '(torch/distributed/distributed_c10d.py:2810). ' +
      'Pod 3 has not come: it waits in load_batch (data.py:41).',
  )
  t.strictSame(finding?.pods.map(({ pod, things, lost }) => [pod, things, lost]).sort(), [
    ['0', ['train.py (PID 70)'], 130],
    ['1', ['train.py (PID 70)'], 120],
    ['2', ['train.py (PID 70)'], 130],
    ['3', ['train.py (PID 70)'], null],
  ])
})

t.test('ranks wait after 60 s, or ten times the longest time before', async (t) => {
  t.equal(isFound(waits('0', 59.9), loads('1')), false)
  t.equal(isFound(waits('0', 60), loads('1')), true)
  t.equal(isFound(waits('0'), waits('1', 1), loads('2')), false, 'one goes on')
  const pause = [nowRow(30, loads('1', 13)), nowRow(40, { ...loads('1', 1) })]
  t.equal(findingsOf([waits('0', 129), loads('1', 129)], pause).length, 0)
  t.equal(findingsOf([waits('0', 130), loads('1', 130)], pause).length, 1)
})

t.test('a job that begins waits for 5 min', async (t) => {
  const begins = (unchanged: number) => ({ index: '0', stack: STACKS.begins, unchanged })
  t.equal(isFound(begins(299), loads('1')), false)
  t.equal(isFound(begins(300), loads('1', 300)), true)
  const earlier = [nowRow(30, begins(29)), nowRow(40, { ...waits('0', 1) })]
  t.equal(findingsOf([waits('0', 60), loads('1')], earlier).length, 1, 'a wait for the beginning')
})

t.test('a rank that computes is late, unless others stand still', async (t) => {
  const cells = { activity: 'running' }
  const computes = (index: string, unchanged: number) => {
    return { index, stack: STACKS.computes, unchanged, cells }
  }
  const sentenceOf = (...shapes: readonly Shape[]) => findingsOf(shapes)[0]?.sentence
  t.match(
    sentenceOf(waits('0'), waits('1'), computes('2', 0)),
    /\. Pod 2 has not come: it runs in step \(train\.py:12\)\.$/,
  )
  t.match(
    sentenceOf(waits('0'), waits('1'), loads('2'), computes('3', 0)),
    /\. Pod 2 has not come: it waits in load_batch \(data\.py:41\)\.$/,
  )
  const unknown = { ...loads('2'), cells: { activity: null } }
  t.match(sentenceOf(waits('0'), unknown), /\. Pod 2 has not come: it is in load_batch/)
})

t.test('late ranks in more than three lines are counted', async (t) => {
  const late = (lines: number) =>
    Array.from({ length: lines }, (_, at) => ({
      ...loads(`${10 + at}`),
      stack: `${STACKS.loads};read (data.py:${at})`,
    }))
  const waiting = [0, 1, 2, 3, 4].map((rank) => waits(`${rank}`))
  const sentenceOf = (lines: number) => findingsOf([...waiting, ...late(lines)])[0]?.sentence
  t.match(sentenceOf(4), /\. 1 more has not come\.$/)
  t.match(sentenceOf(5), /\. 2 more have not come\.$/)
})

t.test('a run can have any number of processes', async (t) => {
  const stacks: CurrentStacks = new Map()
  addCurrentStack(stacks, 'now', nowRow(600, waits('0')))
  const all = joinStacks(stacks, () => '0')
  const frames = ['main (train.py:1)']
  const processes = Array.from({ length: 200_000 }, (_, at) =>
    all.map((one): PythonProcess => ({ ...one, pod: `${at}`, ...(at === 0 && { frames }) })),
  )
  const [stuck] = findStuckPython(processes.flat(), () => false).flatMap(countedPython)
  t.equal(stuck?.waiting.length, 199_999)
  if (stuck === undefined) return
  t.match(
    describePython(stuck),
    /^Since 7 min 50 s after the start, pods 1-199999 wait in all_reduce/,
  )
  t.match(describePythonNow(stuck), /^For .*, pods 1-199999 wait in all_reduce/)
})

t.test('no finding without a rank that waits for others, or that is late', async (t) => {
  t.equal(isFound(loads('0'), loads('1'), loads('2')), false, 'all are in the same line')
  t.equal(isFound(waits('0'), waits('1')), false, 'all have come')
  t.equal(isFound(waits('0'), loads('1'), loads('2')), false, 'most are elsewhere')
  const other = { ...loads('1'), cells: { program: 'monitor.py' } }
  t.equal(isFound(waits('0'), waits('2'), other), false, 'another program')
  const idle = { ...loads('2'), stack: 'main_loop (ray/_private/worker.py:1056)' }
  t.equal(isFound(waits('0'), waits('1'), idle), false, 'a worker of Ray without a task')
  const barrier =
    '<module> (a.py:1);Barrier.wait (threading.py:699);Barrier._wait (threading.py:726)'
  t.equal(isFound({ ...waits('0'), stack: barrier }, loads('1')), true, 'a barrier')
})

t.test('the process of a data loader that hangs is named', async (t) => {
  const worker = (unchanged: number) => ({
    ...loads('1'),
    pid: 71,
    stack: STACKS.worker,
    unchanged,
  })
  const asks = (index: string) => ({ index, stack: STACKS.asks, unchanged: 130 })
  const idle = { ...loads('1'), pid: 72, stack: STACKS.idleWorker }
  const sentenceOf = (...shapes: readonly Shape[]) => findingsOf(shapes)[0]?.sentence
  const process = 'Process 71 of the data loader waits in load (data.py:14).'
  t.equal(
    sentenceOf(waits('0'), asks('1'), worker(130), idle),
    'Since 7 min 50 s after the start, pod 0 waits in all_reduce ' +
      '(torch/distributed/distributed_c10d.py:2810). ' +
      `Pod 1 has not come: it waits for its data loader. ${process}`,
  )
  t.match(
    sentenceOf(waits('0'), asks('1'), worker(59), idle),
    /Pod 1 has not come: it waits in Queue\.get \(multiprocessing\/queues\.py:103\)\.$/,
  )
  t.equal(
    sentenceOf(asks('1'), worker(130), idle),
    `Since 7 min 50 s after the start, pod 1 waits for its data loader. ${process}`,
  )
  t.equal(sentenceOf(asks('1'), worker(59), idle), undefined, 'it is only slow')
  t.equal(sentenceOf(asks('1'), worker(130), loads('2'), idle), undefined, 'others go on')
})

t.test('several processes in a pod are named by their ids', async (t) => {
  const pids = (index: string, one: (index: string) => Shape) => (pid: number) => ({
    ...one(index),
    pid,
  })
  const all = [...[70, 71].map(pids('0', waits)), pids('1', waits)(70), pids('1', loads)(71)]
  t.match(
    findingsOf(all)[0]?.sentence,
    /, processes 70-71 of pod 0, process 70 of pod 1 wait in .* Process 71 of pod 1 has not come/,
  )
})

t.test('a rank that has ended is late, and a killed job has a finding', async (t) => {
  const gone = [nowRow(20, loads('2', 0)), endRow(30, '2')]
  t.match(
    findingsOf([waits('0'), waits('1')], gone)[0]?.sentence,
    /\. Pod 2 has not come: it has ended\.$/,
  )
  const earlier = [nowRow(-20, loads('2', 0)), endRow(-10, '2')]
  t.equal(findingsOf([waits('0'), waits('1')], earlier).length, 0, 'a process of an earlier job')
  const ends = [endRow(601, '0'), endRow(601, '1')]
  const shapes = [waits('0'), loads('1')]
  const [killed, ...others] = findingsOf(shapes, ends, 137)
  t.strictSame(others, [])
  const line = / Pod 1 has not come: it waits in load_batch \(data\.py:41\)\.$/
  t.match(killed?.sentence, line, 'a process that was killed with the others was late before')
  t.equal(findingsOf(shapes, ends, 0).length, 0, 'it has succeeded')
  t.equal(findingsOf(shapes, ends).length, 0, 'it may have succeeded')
})
