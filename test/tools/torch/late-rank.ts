import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { mismatchesIn, noticesOf, rowsOf } from '../../observers/json-rows.ts'
import { openFolder, podOf, type Running } from '../../observers/pod.ts'
import { type Row, summaryOf } from '../../observers/prerequisites.ts'
import { CONTAINER, watchPod } from '../watched-pod.ts'
import { program, recording } from './torch-tool.ts'

/** Starts a pod with the observer. Programs in the target have the tool. */
export async function recordedPod(
  t: Test,
  env: NodeJS.ProcessEnv,
  rate = 60,
  mode: NodeJS.ProcessEnv = CONTAINER,
) {
  const results = openFolder('ridealong-results-')
  t.teardown(() => rm(results, { recursive: true, force: true }))
  const settings = { ...mode, RIDEALONG_RESULTS: results }
  const { LD_PRELOAD, ...variables } = recording(rate)
  return watchPod(await podOf(t), {
    ...{ metric: 'torch-collectives', settings, tool: { LD_PRELOAD }, as: {} },
    env: { ...variables, ...env },
  })
}

/** What late.py prints. */
interface Printed {
  readonly rank: number
  readonly times: readonly number[]
  readonly gap: number
}

const printedBy = (log: string): Printed => JSON.parse(log.trim().split('\n').at(-1) ?? '')
const medianOf = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** Returns when the process of a rank made its calls, by their numbers. */
function callsOf(rows: readonly Row[], rank: number): ReadonlyMap<number, number> {
  const own = rows.filter(({ world_rank }) => world_rank === rank)
  return new Map(own.map(({ number, called }) => [Number(number), Number(called)]))
}

/** Returns by how much rank 1 was later than rank 0 in each call. */
function delaysIn(rows: readonly Row[]): readonly number[] {
  const [early, late] = [callsOf(rows, 0), callsOf(rows, 1)]
  return [...early].flatMap(([number, time]) => {
    const other = late.get(number)
    return other === undefined ? [] : other - time
  })
}

/**
 * Runs two ranks of late.py, and checks that the rows say which rank is late, and by how much.
 *
 * @param python a Python with PyTorch, or with the module that stands in for it
 */
export async function checkLateRank(
  t: Test,
  python: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const master = openFolder('ridealong-master-')
  t.teardown(() => rm(master, { recursive: true, force: true }))
  execFileSync('mkfifo', [join(master, '0'), join(master, '1')])
  const pod = await recordedPod(t, { ...env, WORLD_SIZE: '2', MASTER_FOLDER: master }, 2)
  const start = (rank: number) =>
    pod.start('/usr/bin/env', `RANK=${rank}`, python, program('late.py'), '200')
  const ranks = await Promise.all([start(0), start(1)])
  t.strictSame(await Promise.all(ranks.map(({ ended }) => ended)), [0, 0])
  t.equal(await pod.watching.ended, 0)
  checkRows(
    t,
    pod.watching,
    ranks.map(({ log }) => printedBy(log())),
  )
}

function checkRows(t: Test, watching: Running, [first, second]: readonly Printed[]): void {
  t.strictSame(mismatchesIn(watching, 'torch-collectives'), [])
  t.strictSame(noticesOf(watching), [])
  const rows = rowsOf(watching, 'collective')
  const delays = delaysIn(rows)
  t.equal(delays.length, 201, 'each call has a row of each rank')
  t.equal(rows.length, 402, 'each call has one row')
  const did = (second?.times ?? []).map((time, at) => time - (first?.times[at] ?? 0))
  const [found, done] = [medianOf(delays.slice(1)), medianOf(did)]
  t.ok(Math.abs(found - done) < 0.005, `the median delay is ${found} s; the program did ${done} s`)
  t.comment(`median delay: ${found} s in the rows, ${done} s in the program`)
  const last = rowsOf(watching, 'process').filter(({ state }) => state === 'ended')
  t.match(
    last.sort((a, b) => Number(a.world_rank) - Number(b.world_rank)),
    [0, 1].map((world_rank) => ({ world_rank, world_size: 2, program: 'late.py' })),
  )
  for (const { copies } of last) t.ok(Number(copies) >= 3, `${copies} copies`)
  t.match(rowsOf(watching, 'group')[0], { group: '0', size: 2, members: '0-1' })
  const inMs = (seconds: unknown) => `${(Number(seconds) * 1000).toFixed(1)} ms`
  const gaps = [first, second].map((one) => inMs(one?.gap)).join(' and ')
  const copies = last.map((row) => inMs(row.longest_copy)).join(' and ')
  t.comment(`the longest gap of another thread: ${gaps}; the longest copy: ${copies}`)
  t.match(summaryOf(watching.log()), [{ metric: 'torch-collectives', ranks: 2 }])
}
