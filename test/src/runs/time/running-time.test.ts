import { deepStrictEqual, ok } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import type { MeasuredTime } from '../../../../src/runs/efficiency/measured-time.ts'
import { mapParts, TIME_PART_NAMES } from '../../../../src/runs/time/parts.ts'
import { divideRunning, runningParts } from '../../../../src/runs/time/running-time.ts'
import { readTimeDocument, timeDocument } from '../../../../src/runs/time/time-document.ts'
import { timeSentence } from '../../../../src/runs/time/time-sentence.ts'
import { formatTime } from '../../../../src/runs/time/time-text.ts'
import { timeOf } from './time-of.ts'

const MEASURED: MeasuredTime = {
  seconds: 160,
  shares: { computing: 0.5, mpi: 0.25, waiting: 0.125, storage: 0, idle: 0.125 },
  isLimit: false,
}

t.test('the running time is divided as far as it was measured', async (t) => {
  const time = divideRunning(timeOf({ scheduling: 40, running: 200 }, 4), MEASURED)
  t.strictSame(time.running, {
    seconds: { computing: 80, mpi: 40, waiting: 20, storage: 0, idle: 20, unknown: 40 },
    isLimit: false,
  })
  t.match(formatTime(time, 20)[2], {
    rows: [
      ['s', 'waiting to be scheduled', '10 s', '17 %'],
      ['r', 'running', '50 s', '83 %'],
      ['', '  computing', '20 s', '33 %'],
      ['', '  in MPI', '10 s', '17 %'],
      ['', '  waiting for a processor', '5 s', '8 %'],
      ['', '  idle', '5 s', '8 %'],
      ['', '  not measured', '10 s', '17 %'],
    ],
  })
  t.equal(
    timeSentence(time, 'its creation', true),
    '60 s since its creation, mean of 4 pods: 50 s running (20 s computing, 10 s in MPI, ' +
      '5 s waiting for a processor, 5 s idle, 10 s not measured), 10 s waiting to be scheduled',
  )
  t.strictSame(readTimeDocument(JSON.parse(JSON.stringify(timeDocument(time)))), time)
})

t.test('a limit is not computing, and idle time may be waiting for storage', async (t) => {
  const shares = { computing: 0.25, mpi: 0, waiting: 0, storage: null, idle: 0.75 }
  const measured = { seconds: 90, shares, isLimit: true }
  const time = divideRunning(timeOf({ running: 80 }), measured)
  t.strictSame(runningParts(time), [
    { phrase: 'computing', isLimit: true, seconds: 20 },
    { phrase: 'idle or waiting for storage', isLimit: false, seconds: 60 },
  ])
  t.match(
    timeSentence(time, 'its creation', true),
    /running \(at most 20 s computing, 60 s idle or/,
  )
  t.match(formatTime(time, 20)[2], {
    rows: [['r'], ['', '  at most computing', '20 s', '25 %'], []],
  })
  t.strictSame(readTimeDocument(JSON.parse(JSON.stringify(timeDocument(time)))), time)
})

t.test('without an efficiency, or if it is about other time, nothing is divided', async (t) => {
  const time = timeOf({ running: 95, partial: 5 })
  t.equal(divideRunning(time, null), time)
  t.not(divideRunning(time, MEASURED).running, null)
  for (const part of ['partial', 'lost', 'unknown'] as const) {
    const { running, reasons } = divideRunning(timeOf({ running: 94, [part]: 6 }), MEASURED)
    t.match([running, reasons], [null, ['a time is missing', /^the running time is not divided: /]])
  }
  const queued = timeOf({ scheduling: 60 })
  t.equal(divideRunning(queued, MEASURED), queued)
})

const SHARES = fc.array(fc.nat(1000), { minLength: 6, maxLength: 6 }).map((parts) => {
  const all = parts.reduce((sum, part) => sum + part, 1)
  const [computing = 0, mpi = 0, waiting = 0, storage = 0, idle = 0] = parts.map((one) => one / all)
  return { computing, mpi, waiting, storage, idle }
})

t.test('the division adds up, and changes no part', async (t) => {
  const property = fc.property(
    fc.array(fc.nat(5000), { minLength: 11, maxLength: 11 }),
    fc.record({ seconds: fc.nat(20_000), shares: SHARES, isLimit: fc.boolean() }),
    fc.integer({ min: 1, max: 9 }),
    fc.boolean(),
    (lengths, measured, places, isRare) => {
      const lengthOf = (part: (typeof TIME_PART_NAMES)[number]) => {
        const length = lengths[TIME_PART_NAMES.indexOf(part)] ?? 0
        const isOther = part === 'partial' || part === 'lost' || part === 'unknown'
        return isOther && isRare ? length / 1e4 : length
      }
      const time = timeOf(mapParts(lengthOf), places)
      const divided = divideRunning(time, measured)
      deepStrictEqual(divided.seconds, time.seconds)
      if (divided.running === null) return
      const states = Object.values(divided.running.seconds).map((one) => one ?? 0)
      ok(states.every((one) => one >= 0))
      const sum = states.reduce((all, one) => all + one, 0)
      ok(Math.abs(sum - time.seconds.running) < 1e-6)
    },
  )
  t.doesNotThrow(() => fc.assert(property))
})
