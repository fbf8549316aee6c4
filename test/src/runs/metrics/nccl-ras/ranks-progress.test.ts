import t from 'tap'
import type { Cell, Sample } from '../../../../../src/runs/log/columns.ts'
import { endOf, findIn } from '../../findings/rows.ts'
import { nowRow, STACKS } from '../python-profile/python-rows.ts'
import {
  type AnswerShape,
  answerRows,
  lateCells,
  missingCells,
  processRow,
  rankCells,
} from './answer-rows.ts'

/** The healthy rows of two answers before. */
const BEFORE = [0, 60].flatMap((seconds) => [
  ...[0, 1, 2, 3].map((rank) => processRow(rank, seconds)),
  ...answerRows(seconds, { communicator: { ranks_behind: 0, ranks_ahead: 4 } }),
])

/** @param processes rows of processes, which replace the rows before of the same processes */
function findingsOf(shape: AnswerShape, ...processes: readonly Sample[]) {
  const isReplaced = ({ section, source }: Sample) =>
    section === 'process' && processes.some((one) => one.source === source)
  const before = BEFORE.filter((row) => !isReplaced(row))
  const rows = [...before, ...processes, ...answerRows(120, shape)]
  return findIn(rows).findings.filter(({ rule }) => rule === 'no-progress')
}

const isFound = (shape: AnswerShape, ...processes: readonly Sample[]) =>
  findingsOf(shape, ...processes).length > 0

const service = (unchanged: Cell, longest_gap = 0) => ({ without_change: unchanged, longest_gap })

t.test('a late rank counts after 60 s, or ten times the longest time before', async (t) => {
  const ranks = [lateCells(3), rankCells(0)]
  t.equal(isFound({ service: service(59.9), ranks }), false)
  t.equal(isFound({ service: service(60), ranks }), true)
  t.equal(isFound({ service: service(599, 60), ranks }), false)
  t.equal(isFound({ service: service(600, 60), ranks }), true)
  t.equal(isFound({ service: service(null), ranks }), false)
})

t.test('a rank that has launched nothing counts after 5 min', async (t) => {
  const ranks = [lateCells(3, { launched: 0 })]
  t.equal(isFound({ service: service(299), ranks }), false)
  t.equal(isFound({ service: service(300), ranks }), true)
})

t.test('a rank that does not answer counts after 60 s, while most others answer', async (t) => {
  const communicator = { ranks_missing: 1, ranks_behind: 0 }
  const ranks = [missingCells(3, { without_change: 60 })]
  t.equal(isFound({ communicator, ranks }), true)
  t.equal(isFound({ service: service(59), communicator, ranks }), false, 'others go on')
  t.equal(isFound({ service: service(null), communicator, ranks }), true, 'an answer in text')
  const recent = [missingCells(3, { without_change: 59 })]
  t.equal(isFound({ communicator, ranks: recent }), false)
  const half = { ranks_missing: 2, ranks_behind: 0 }
  const hosts = { host: null, nccl_pid: null }
  const ending = [missingCells(2, hosts), missingCells(3, hosts)]
  t.equal(isFound({ communicator: half, ranks: ending }), false, 'the job may end')
  const running = [2, 3].map((rank) => processRow(rank, 120, { process_state: 'stopped' }))
  t.equal(
    isFound({ communicator: half, ranks: [missingCells(2), missingCells(3)] }, ...running),
    true,
    'their processes run',
  )
})

t.test('a job that has ended without an error went on after its last answer', async (t) => {
  const rows = [...BEFORE, ...answerRows(120, { ranks: [lateCells(3)] })]
  const found = (exitCode: number) =>
    findIn(rows, (rank) => (rank === '0' ? [endOf({ exitCode })] : [])).findings
  const isNamed = ({ rule }: { readonly rule: string }) => rule === 'no-progress'
  t.equal(found(0).some(isNamed), false)
  t.equal(found(1).some(isNamed), true)
})

t.test('a container that fetches data, or was restarted, is not the job', async (t) => {
  const rows = [...BEFORE, ...answerRows(120, { ranks: [lateCells(3)] })]
  const isStuck = (...ended: readonly ReturnType<typeof endOf>[]) =>
    findIn(rows, (rank) => (rank === '0' ? ended : [])).findings.some(
      ({ rule }) => rule === 'no-progress',
    )
  const other = { ...endOf({ exitCode: 0 }), container: 'fetch-data' }
  t.equal(isStuck(other), true)
  t.equal(isStuck(other, endOf({ exitCode: 0 })), false)
  t.equal(isStuck(endOf({ exitCode: 0, restarted: true })), true)
})

t.test('the finding names the operation, the rank, its pod and its process', async (t) => {
  const stopped = [60, 120].map((at) => processRow(3, at, { process_state: 'stopped' }))
  const ranks = [lateCells(3), rankCells(0), rankCells(1)]
  const [finding] = findingsOf({ ranks }, ...stopped)
  t.equal(
    finding?.sentence,
    'Since the start, 3 ranks wait in AllReduce number 6,650 of the NCCL communicator ' +
      '27a079b828ff1a75 of 4 ranks. NCCL rank 3 (pod 3) has not come: its process is stopped.',
  )
  t.match(finding?.pods.map(({ pod, things, lost }) => [pod, things, lost]).sort(), [
    ['0', ['NCCL rank 0'], 120],
    ['1', ['NCCL rank 1'], 120],
    ['3', ['NCCL rank 3'], null],
  ])
})

t.test('the line of Python in which a late rank is', async (t) => {
  const sleeping = [60, 120].map((at) => processRow(3, at))
  const ranks = [lateCells(3), rankCells(0)]
  const now = { index: '3', pid: 73, stack: STACKS.loads }
  const last = (...rows: readonly Sample[]) =>
    findIn([...BEFORE, ...rows, ...answerRows(120, { ranks })]).findings.find(
      ({ rule }) => rule === 'no-progress',
    )
  const known = last(...sleeping, nowRow(110, now))
  const process = 'its process sleeps in a system call'
  t.ok(known?.sentence.endsWith(`has not come: ${process} in load_batch (data.py:41).`))
  const lines = [{ pythonLine: 'load_batch (data.py:41)' }]
  t.match(known?.pods[0]?.stuck?.document(), { late: lines })
  for (const other of [nowRow(60, now), nowRow(110, { ...now, pid: 74 })])
    t.ok(last(...sleeping, other)?.sentence.endsWith(`has not come: ${process}.`))
})

t.test('ranks with different operations, of which one does not answer', async (t) => {
  const communicator = { ranks_missing: 1, ranks_behind: 1, ranks_ahead: 0 }
  const hosts = { host: null, nccl_pid: null }
  const [finding] = findingsOf({
    communicator,
    ranks: [missingCells(2, hosts), lateCells(1, hosts)],
  })
  t.equal(
    finding?.sentence,
    'Since the start, no rank has launched all operations of the NCCL communicator ' +
      '27a079b828ff1a75 of 4 ranks. NCCL rank 2 does not answer. NCCL rank 1 has not come.',
  )
})

t.test('other texts', async (t) => {
  const sentenceOf = (shape: AnswerShape) => findingsOf(shape)[0]?.sentence
  const where = 'the NCCL communicator 27a079b828ff1a75 of 4 ranks'
  const hosts = { host: null, nccl_pid: null }
  const missing = { ranks_missing: 1, ranks_behind: 0 }
  t.equal(
    sentenceOf({ communicator: missing, ranks: [missingCells(2, { ...hosts, state: 'dead' })] }),
    `Since the start, no rank has launched an operation in ${where}. ` +
      'NCCL rank 2 does not answer, and NCCL considers it dead.',
  )
  const several = { ranks_behind: 5, ranks_ahead: 1, size: 6 }
  const late = [1, 2].map((rank) => lateCells(rank, { ...hosts, behind: 7 }))
  t.match(
    sentenceOf({ communicator: several, ranks: late }),
    /, 1 rank waits in .* NCCL ranks 1-2 have not come, and are 7 calls of AllReduce behind\. 3 more are late\.$/,
  )
  const both = [lateCells(1, { ...hosts, behind: 7 }), missingCells(2, hosts)]
  t.match(
    sentenceOf({ communicator: { ranks_missing: 1, ranks_behind: 1 }, ranks: both }),
    /NCCL rank 1 has not come, and is 7 calls of AllReduce behind\. NCCL rank 2 does not answer\.$/,
  )
  const older = { operation: 'collective', ranks_ahead: null }
  t.match(
    sentenceOf({
      communicator: older,
      ranks: [lateCells(1, { ...hosts, operation: 'collective' })],
    }),
    /, ranks wait in operation number 6,650 of the NCCL .*\. NCCL rank 1 has not come\.$/,
  )
  const mismatch = { ranks_behind: 2, ranks_ahead: 0 }
  const ranks = [lateCells(0), lateCells(1, { operation: 'Broadcast' })]
  t.equal(
    sentenceOf({ communicator: mismatch, ranks }),
    `Since the start, the ranks of ${where} have launched different operations: ` +
      'NCCL rank 0 is behind in AllReduce, NCCL rank 1 is behind in Broadcast. ' +
      'All ranks must launch the operations in the same order.',
  )
})
