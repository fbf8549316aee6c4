import t from 'tap'
import { startLiveLog } from '../../../../src/runs/top/live-log.ts'
import { startLiveStore } from '../../../../src/runs/top/live-store.ts'
import { findNoProgress } from '../../../../src/runs/top/no-progress.ts'
import type { LivePod } from '../../../../src/runs/top/pods.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'
import { answerRows, lateCells, processRow } from '../metrics/nccl-ras/answer-rows.ts'
import { HEAD, row, START } from './findings/live-pod.ts'

/** A pod whose observer of nccl-ras has written these rows, and the seconds of the last one. */
function livePod(pod: number, rows: readonly object[]): LivePod {
  const description = BUILT_IN_ROWS.get('nccl-ras')
  if (description === undefined) throw new Error('the catalog describes the rows of nccl-ras')
  const live = startLiveStore('nccl-ras', `hpc/app-${pod}`)
  const log = startLiveLog(description, live)
  for (const line of [HEAD, ...rows.map(lineOf)]) log.push(line, START)
  log.settle()
  const state = { hasStarted: true, isRead: true, isOver: false, seenAt: undefined, clockAhead: 0 }
  const observer = { metric: 'nccl-ras', log, live, isShown: true, ...state }
  const place = { namespace: 'hpc', pod: `app-${pod}`, node: null, pod_index: String(pod) }
  return { ...place, observers: [observer] }
}

function lineOf(sample: object): string {
  const { seconds, section, ...cells } = sample as { seconds: number; section: string }
  const columns = BUILT_IN_ROWS.get('nccl-ras')?.sections.find(({ name }) => name === section)
  const own = columns?.columns.map(({ name }) => [name, (cells as never)[name] ?? null]) ?? []
  return row(seconds, section, Object.fromEntries(own))
}

const now = START + 125_000

t.test('top names the rank of NCCL that is late, and its pod', async (t) => {
  const times = [0, 60, 120]
  const first = times.flatMap((seconds) => [
    ...answerRows(seconds, { ranks: [lateCells(3)], service: { without_change: seconds } }),
    processRow(0, seconds),
  ])
  const late = times.map((seconds) => processRow(3, seconds, { process_state: 'stopped' }))
  const pods = [livePod(0, first), livePod(3, late)]
  t.match(findNoProgress(pods, now), [
    {
      sentence:
        'For 2 min, 3 ranks wait in AllReduce number 6,650 of the NCCL communicator ' +
        '27a079b828ff1a75 of 4 ranks. NCCL rank 3 (pod hpc/app-3) has not come: its process is ' +
        'stopped.',
    },
  ])
  t.strictSame([...(findNoProgress(pods, now)[0]?.pods ?? [])], ['hpc/app-3'])
})

t.test('a pod whose program was started again does not wait', async (t) => {
  const times = [0, 60, 120]
  const stopped = { process_state: 'stopped' }
  const hung = times.flatMap((seconds) => [
    ...answerRows(seconds, { ranks: [lateCells(3)], service: { without_change: seconds } }),
    processRow(3, seconds, stopped),
  ])
  t.equal(findNoProgress([livePod(0, hung)], now).length, 1)
  const again = processRow(0, 121, { attempt: 2 })
  const late = processRow(3, 122, stopped)
  t.strictSame(findNoProgress([livePod(0, [...hung, again, late])], now), [])
})

t.test('an observer without new rows says nothing', async (t) => {
  const rows = answerRows(120, { ranks: [lateCells(3)] })
  t.equal(findNoProgress([livePod(0, rows)], now).length, 1)
  const [pod] = [livePod(0, rows)]
  const [observer] = pod.observers
  t.strictSame(
    findNoProgress([{ ...pod, observers: [{ ...observer, isOver: true }] } as never], now),
    [],
  )
})

t.test('a log that starts again has no answer', async (t) => {
  const pod = livePod(0, answerRows(120, { ranks: [lateCells(3)] }))
  pod.observers[0]?.log.restart()
  t.strictSame(findNoProgress([pod], now), [])
})
