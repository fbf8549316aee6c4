import { deepStrictEqual, ok } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { mapParts, TIME_PART_NAMES, type TimePart } from '../../../../src/runs/time/parts.ts'
import { timeSentence } from '../../../../src/runs/time/time-sentence.ts'
import { timeOf } from './time-of.ts'

const sentenceOf = (known: Partial<Record<TimePart, number>>, places = 1) =>
  timeSentence(timeOf(known, places), 'its creation', true)

t.test('a sentence names the longest part first, and unknown time last', async (t) => {
  t.equal(
    sentenceOf({ scheduling: 60, running: 1860, lost: 840, unknown: 900 }),
    '61 min since its creation: 31 min running, 14 min lost to 2 restarts, ' +
      '60 s waiting to be scheduled, 15 min not known',
  )
})

t.test('the times are those of a mean pod, and of a run that goes on so far', async (t) => {
  const time = timeOf({ running: 60, ending: 20 }, 4)
  const expected =
    '20 s so far since its creation, mean of 4 pods: 15 s running, 5 s after its application ended'
  t.equal(timeSentence(time, 'its creation', false), expected)
})

t.test('short parts are one part, but running is always named', async (t) => {
  t.equal(
    sentenceOf({ creating: 50, scheduling: 40, preparing: 30, pulling: 8, running: 5, ending: 4 }),
    '2 min 17 s since its creation: 50 s until its pod was created, 40 s waiting to be ' +
      'scheduled, 30 s for volumes, the network and the first image, 5 s running, ' +
      '12 s for the rest',
  )
  t.match(sentenceOf({ creating: 4, scheduling: 3, preparing: 2, pulling: 1 }), /1 s for images/)
})

t.test('a time without length has no parts', async (t) => {
  t.equal(sentenceOf({}), '0 s since its creation')
})

t.test('the times of a sentence add up', async (t) => {
  const property = fc.property(fc.array(fc.nat(119), { maxLength: 11 }), (lengths) => {
    const seconds = mapParts((part) => lengths[TIME_PART_NAMES.indexOf(part)] ?? 0)
    const [, list = ''] = sentenceOf(seconds).split(': ')
    const sum = [...list.matchAll(/(?:(\d+) min ?)?(?:(\d+) s)?/g)].reduce(
      (all, [, minutes = 0, rest = 0]) => all + Number(minutes) * 60 + Number(rest),
      0,
    )
    deepStrictEqual(
      sum,
      Object.values(seconds).reduce((all, one) => all + one, 0),
    )
    ok(seconds.running === 0 || list.includes(' running'))
    ok(seconds.unknown === 0 || list.endsWith('not known'))
  })
  t.doesNotThrow(() => fc.assert(property))
})
