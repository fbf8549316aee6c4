import t from 'tap'
import { findIn, LENGTH, podRows } from '../findings/rows.ts'
import { profileRows, STACKS } from '../metrics/python-profile/python-rows.ts'

// Pods with a trainer and workers of its data loader, which are processes of the same program.

const FORKED = '<module> (train.py:60);BaseProcess._bootstrap (multiprocessing/process.py:314)'
const LOOP = `${FORKED};_worker_loop (torch/utils/data/_utils/worker.py:330)`
const IDLE = `${LOOP};_PollLikeSelector.select (selectors.py:415)`
const AUGMENTS = `${LOOP};augment (data.py:80)`
const COMPUTES = '<module> (train.py:60);step (train.py:12)'

interface Workers {
  readonly count: number
  /** The seconds for which each worker waits for an index; the rest of the run it augments. */
  readonly idle: number
}

/** Returns the rows of a pod. @param waits the seconds for which its trainer waits for data */
function rowsOf(pod: string, waits: number, { count, idle }: Workers) {
  const only = ['container', 'process', 'gpu', 'python'] as const
  const gpu = { gpu_busy: 10 }
  const workers = Array.from({ length: count }, (_, at) => ({ index: pod, pid: 200 + at }))
  const augments = LENGTH - idle
  return [
    ...podRows(pod, { gpu }, { only }),
    ...profileRows({ index: pod, stack: STACKS.asks, wall: waits }),
    ...profileRows({ index: pod, stack: COMPUTES, wall: LENGTH - waits, running: LENGTH - waits }),
    ...workers.flatMap((worker) => [
      ...profileRows({ ...worker, stack: IDLE, wall: idle }),
      ...profileRows({ ...worker, stack: AUGMENTS, wall: augments, running: augments }),
    ]),
  ]
}

const NONE = { count: 0, idle: 0 }

/** Returns the sentences of the findings of a rule. */
function sentencesOf(rule: string, rows: Parameters<typeof findIn>[0]) {
  const found = findIn(rows).findings.filter((finding) => finding.rule === rule)
  return found.map(({ sentence }) => sentence)
}

t.test('idle workers do not wait in the place of the trainer', async (t) => {
  const rule = 'gpu-idle-while-python-waits'
  for (const workers of [NONE, { count: 8, idle: LENGTH }])
    t.strictSame(sentencesOf(rule, rowsOf('0', 2, workers)), [])
})

t.test('busy workers do not hide that the trainer waits', async (t) => {
  const rule = 'gpu-idle-while-python-waits'
  for (const workers of [NONE, { count: 4, idle: 0 }])
    t.match(sentencesOf(rule, rowsOf('0', 90, workers)), [
      /while Python waited in Queue\.get \(multiprocessing\/queues\.py:103\): .* for 90 s/,
    ])
})

t.test('a pod whose workers are busy holds up no others', async (t) => {
  const pods = ['0', '1', '2'].flatMap((pod) => rowsOf(pod, 2, { count: 8, idle: LENGTH - 5 }))
  const rows = [...pods, ...rowsOf('3', 2, { count: 8, idle: 0 })]
  t.strictSame(sentencesOf('all-wait-for-one', rows), [])
})

t.test('a pod with more workers does not wait longer', async (t) => {
  const pods = ['0', '1', '2'].flatMap((pod) => rowsOf(pod, 2, { count: 2, idle: LENGTH - 5 }))
  const rows = [...pods, ...rowsOf('3', 2, { count: 8, idle: LENGTH - 5 })]
  t.strictSame(sentencesOf('waiting-in-python', rows), [])
})

t.test('of several ranks in a pod, the mean counts', async (t) => {
  const trains = (pod: string, wall: number) => [
    ...podRows(pod, {}, { only: ['container', 'process', 'python'] }),
    ...[70, 71, 72].flatMap((pid) => [
      ...profileRows({ index: pod, pid, stack: STACKS.waits, wall }),
      ...profileRows({
        index: pod,
        pid,
        stack: COMPUTES,
        wall: LENGTH - wall,
        running: LENGTH - wall,
      }),
    ]),
  ]
  const rows = [...['0', '1', '2'].flatMap((pod) => trains(pod, 100)), ...trains('3', 10)]
  t.match(sentencesOf('all-wait-for-one', rows), [
    /they waited at least 100 s in all_reduce .* it waited 10 s there\. It ran 90 s longer/,
  ])
})
