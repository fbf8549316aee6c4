import { ok } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { missingFactor } from '../../../../src/runs/efficiency/factor.ts'
import {
  type MeasuredTime,
  measuredByFactors,
  measuredTime,
} from '../../../../src/runs/efficiency/measured-time.ts'
import { mpiFactors, splitTimes } from '../../../../src/runs/efficiency/mpi-factors.ts'
import { podShares, processorFactors } from '../../../../src/runs/efficiency/processor-factors.ts'
import { simulate } from './simulated.ts'

function sumOf({ shares }: MeasuredTime): number {
  const parts = Object.values(shares).map((share) => share ?? 0)
  ok(parts.every((part) => part >= 0))
  return parts.reduce((sum, part) => sum + part, 0)
}

const isNear = (one: number, other: number) => Math.abs(one - other) < 1e-9

const SECONDS = fc.double({ min: 0, max: 5000, noNaN: true })
const POD = fc.record({
  pod: fc.constant('0'),
  elapsed: fc.double({ min: 1, max: 1000, noNaN: true }),
  ran: fc.double({ min: 0.001, max: 5000, noNaN: true }),
  waited: SECONDS,
  storage: fc.option(fc.record({ seconds: SECONDS, atOnce: fc.constantFrom(null, 1) })),
  limit: fc.constant(null),
})

t.test('the division of pods is that of their efficiency', async (t) => {
  const property = fc.property(fc.array(POD, { minLength: 1, maxLength: 4 }), (pods) => {
    const root = processorFactors(pods, true)
    const measured = measuredByFactors(root, 100)
    const all = pods.reduce((sum, { elapsed }) => sum + elapsed, 0)
    const mean = (name: 'computing' | 'waiting') =>
      pods.reduce((sum, pod) => sum + ((podShares(pod)?.[name] ?? 0) * pod.elapsed) / all, 0)
    if (measured === null) return ok(isNear(mean('computing'), 0))
    ok(isNear(measured.shares.computing, mean('computing')))
    ok(isNear(measured.shares.waiting, mean('waiting')))
    ok(isNear(sumOf(measured), 1))
    ok(measured.isLimit)
  })
  t.doesNotThrow(() => fc.assert(property))
})

t.test('without the waiting for processors, only computing is known', async (t) => {
  const pods = [{ pod: '0', elapsed: 10, ran: 4, waited: null, storage: null, limit: null }]
  const shares = { computing: 0.4, mpi: 0, waiting: 0, storage: null, idle: 0 }
  const measured = measuredByFactors(processorFactors(pods, false), 10)
  t.strictSame(measured, { seconds: 10, shares, isLimit: false })
  t.equal(measuredByFactors(missingFactor('efficiency', 'no rows'), 10), null)
})

const PROGRAM = fc.record({
  computing: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 4 }),
  sleeping: fc.nat(20),
  isPolling: fc.boolean(),
  steps: fc.constant(5),
})

t.test('the division of an MPI job is that of its efficiency', async (t) => {
  const property = fc.property(PROGRAM, fc.integer({ min: 1, max: 4 }), (program, processors) => {
    const simulated = simulate(program, processors)
    const counted = simulated.map((one) => {
      return { ...one, asleep: (one.elapsed - one.inMpi) / 4, storage: one.elapsed / 20 }
    })
    const mixed = counted.map((one, rank) => (rank > 0 ? one : { ...one, asleep: null }))
    for (const [times, unknown] of [
      [simulated, null],
      [counted, null],
      [counted, 'it was not counted'],
      [mixed, null],
    ] as const) {
      const processes = times.map((one, mpiRank) => {
        return { ...one, pod: `${mpiRank % 2}`, mpiRank, pid: null, split: splitTimes(one) }
      })
      const root = mpiFactors(times, unknown)
      const measured = measuredTime({ basis: 'mpi', root, processes, pods: [] })
      if (measured === null) throw new Error('the efficiency is known')
      ok(isNear(sumOf(measured), 1))
      ok(isNear(measured.shares.computing, root.value ?? 0))
      ok(isNear(measured.seconds, 2 * (times[0]?.elapsed ?? 0)), 'the seconds of two pods')
      ok(
        measured.isLimit ===
          (unknown !== null || processes.some(({ split }) => split.idle === null)),
      )
    }
  })
  t.doesNotThrow(() => fc.assert(property))
})

t.test('threads that are in MPI at the same time are not divided', async (t) => {
  const [one] = simulate({ computing: [4, 4], sleeping: 2, isPolling: true, steps: 3 }, 2)
  if (one === undefined) throw new Error('there is a process')
  const times = { ...one, inMpi: 2 * one.elapsed }
  const process = { ...times, mpiRank: 0, pid: null, split: splitTimes(times) }
  const root = mpiFactors([one], null)
  t.equal(measuredTime({ basis: 'mpi', root, processes: [process], pods: [] }), null)
})
