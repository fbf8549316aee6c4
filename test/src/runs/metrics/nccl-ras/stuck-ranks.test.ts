import t from 'tap'
import type { Sample } from '../../../../../src/runs/log/columns.ts'
import {
  addNcclRow,
  NCCL_STORE,
  newNcclRun,
} from '../../../../../src/runs/metrics/nccl-ras/nccl-run.ts'
import { findStuckRanks } from '../../../../../src/runs/metrics/nccl-ras/stuck-ranks.ts'
import { podOf } from '../../findings/rows.ts'
import { answerRows, lateCells, missingCells, processRow, rankCells, WORLD } from './answer-rows.ts'

function runOf(rows: readonly Sample[]) {
  const run = newNcclRun()
  for (const row of rows) addNcclRow(run, row.section ?? '', row)
  return run
}

const stuckIn = (...rows: readonly Sample[]) => findStuckRanks(runOf(rows), podOf)

t.test('a late rank has the process and the pod that have its address', async (t) => {
  const ranks = [lateCells(3), rankCells(0)]
  const stopped = { process_state: 'stopped' }
  const [stuck] = stuckIn(
    processRow(0, 60),
    processRow(3, 0, stopped),
    processRow(3, 60, stopped),
    ...answerRows(60, { ranks }),
  )
  t.match(stuck, {
    why: 'nccl-late',
    askingPod: '0',
    waited: 120,
    waiting: [{ rank: 0, pod: '0' }],
  })
  const process = { worldRank: 3, program: 'train.py' }
  t.match(stuck?.late, [{ rank: 3, pod: '3', process, activity: { is: 'stopped' } }])
})

t.test('on the network of a node, two pods can have the same process id', async (t) => {
  const addresses = '192.168.0.5'
  const ranks = [lateCells(3, { host: addresses, nccl_pid: 71 })]
  const processesIn = (...pods: readonly number[]) => {
    const rows = pods.map((pod) => processRow(pod, 60, { addresses, pid: 71 }))
    return stuckIn(...rows, ...answerRows(60, { ranks }))[0]?.late.map(({ pod }) => pod)
  }
  t.strictSame(processesIn(3), ['3'])
  t.strictSame(processesIn(1, 3), [null], 'it is not known which one is meant')
})

t.test('what the process of a late rank does is known from its last rows', async (t) => {
  const activityAfter = (...processes: readonly Sample[]) =>
    stuckIn(...processes, ...answerRows(120, { ranks: [lateCells(3)] }))[0]?.late[0]?.activity?.is
  const busy = [60, 120].map((at) => processRow(3, at, { cpu_time: at }))
  t.equal(activityAfter(...busy), 'computing')
  t.equal(activityAfter(processRow(3, 120, { process_state: 'disk' })), 'storage')
  t.equal(activityAfter(processRow(3, 120)), 'sleeping')
  t.equal(activityAfter(processRow(3, 120, { process_state: 'ended' })), 'ended')
  const later = { ...processRow(3, 120, { pid: 99 }) }
  t.equal(activityAfter(processRow(3, 60), later), 'ended', 'the log goes on without the process')
  t.equal(activityAfter(processRow(3, 0)), undefined, 'its log has no rows for a long time')
  t.equal(activityAfter(), undefined)
})

t.test('a process that does not answer is late, too', async (t) => {
  const communicator = { ranks_missing: 1, ranks_behind: 0 }
  const [stuck] = stuckIn(...answerRows(60, { communicator, ranks: [missingCells(2)] }))
  t.match(stuck, { why: 'nccl-late', late: [{ rank: 2, isMissing: true, pod: null }] })
})

t.test('ranks that have launched different operations are a mismatch', async (t) => {
  const communicator = { ranks_behind: 2, ranks_ahead: 0 }
  const ranks = [lateCells(0), lateCells(1, { operation: 'Broadcast' })]
  t.match(stuckIn(...answerRows(60, { communicator, ranks })), [{ why: 'nccl-mismatch' }])
})

t.test('of communicators with the same late process, the largest one counts', async (t) => {
  const small = '00000000000000ab'
  const [, other] = answerRows(60, { communicator: { communicator: small, size: 2 } })
  const rows = answerRows(60, { ranks: [lateCells(3)] })
  const own = lateCells(1, { communicator: small, host: '10.0.0.3', nccl_pid: 73 })
  const rank = { ...rows[2], ...own } as Sample
  const found = stuckIn(...rows.slice(0, 1), other as Sample, ...rows.slice(1), rank)
  t.strictSame(
    found.map(({ communicator }) => communicator.name),
    [WORLD],
  )
})

t.test('of two answers about a job, the later one counts', async (t) => {
  const standIn = { asks: '3', ranks: [missingCells(0)] }
  const found = stuckIn(...answerRows(60, { ranks: [lateCells(1)] }), ...answerRows(120, standIn))
  t.match(found, [{ askingPod: '3', late: [{ rank: 0 }] }])
  t.equal(found.length, 1)
})

t.test('an answer counts until the next request has none', async (t) => {
  const rows = answerRows(60, { ranks: [lateCells(1)] })
  const [refused] = answerRows(120, { service: { state: 'refused' } })
  t.equal(stuckIn(...rows).length, 1)
  t.equal(stuckIn(...rows, refused as Sample).length, 0)
})

t.test('the service of a node counts only with a rank of the pod', async (t) => {
  const found = (own_ranks: number) =>
    stuckIn(...answerRows(60, { service: { scope: 'node', own_ranks }, ranks: [lateCells(1)] }))
  t.equal(found(0).length, 0)
  t.equal(found(1).length, 1)
})

t.test('the logs of a run can be left out and joined', async (t) => {
  const run = runOf([processRow(3, 60), ...answerRows(60, { ranks: [lateCells(3)] })])
  const without = NCCL_STORE.keepLogs(run, (source) => !source.includes('job-3'))
  t.match(findStuckRanks(without, podOf)[0]?.late, [{ rank: 3, pod: null }])
  t.equal(
    findStuckRanks(
      NCCL_STORE.keepLogs(run, () => false),
      podOf,
    ).length,
    0,
  )
  const parts = ['job-3', 'job-0'].map((pod) =>
    NCCL_STORE.keepLogs(run, (one) => one.includes(pod)),
  )
  t.match(findStuckRanks(NCCL_STORE.join(parts), podOf)[0]?.late, [{ rank: 3, pod: '3' }])
})
