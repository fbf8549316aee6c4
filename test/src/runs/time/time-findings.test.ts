import t from 'tap'
import { mapParts, type TimePart } from '../../../../src/runs/time/parts.ts'
import type { DividedTime } from '../../../../src/runs/time/run-time.ts'
import { findInTime } from '../../../../src/runs/time/time-findings.ts'
import { textOf } from '../../../docs/pages.ts'

/** Returns the time of places with these parts, in seconds. */
function timeOf(...places: readonly Partial<Record<TimePart, number>>[]): DividedTime {
  const [first = {}] = places
  const whole = Object.values(first).reduce((sum, seconds) => sum + seconds, 0)
  return {
    from: 0,
    to: whole * 1000,
    places: places.map((known, index) => ({
      name: String(index),
      seconds: mapParts((part) => known[part] ?? 0),
      restarts: 1,
    })),
    reasons: [],
  }
}

const sentences = (...places: readonly Partial<Record<TimePart, number>>[]) =>
  findInTime(timeOf(...places)).map(({ name, sentence }) => `${name}: ${sentence}`)

/** The samples of the documentation. */
const SAMPLES: readonly (readonly [string, readonly Partial<Record<TimePart, number>>[]])[] = [
  [
    'lost-to-restarts: restarts cost 10 min of 60 min, most in pod 1 (20 min)',
    [
      { running: 3600, lost: 0 },
      { running: 2400, lost: 1200 },
    ],
  ],
  [
    'slow-images: images, volumes and networks of the pods took 9 min of 58 min',
    [{ preparing: 60, pulling: 480, running: 2940 }],
  ],
  [
    'late-pods: for 4 min of 40 min, pods ran before the last one started, pod 1',
    [
      { partial: 480, running: 1920 },
      { preparing: 480, running: 1920 },
    ],
  ],
  [
    'long-queue: its pods waited 3 h to be created and scheduled, longer than they ran (31 min)',
    [{ creating: 60, scheduling: 10_740, running: 1860 }],
  ],
]

t.test('each finding about the time is documented with the sentence that it makes', async (t) => {
  const page = textOf('docs/runs.md').replaceAll(/\s+/g, ' ')
  for (const [sample, places] of SAMPLES) {
    t.ok(sentences(...places).includes(sample), `${sentences(...places)}`)
    const [name = '', sentence = ''] = sample.split(/: (.*)/)
    t.ok(page.includes(`| \`${name}\` | ${sentence} |`), name)
  }
})

t.test('little time is no finding', async (t) => {
  t.strictSame(sentences({ lost: 59, running: 100 }), [], 'less than a minute')
  t.strictSame(sentences({ lost: 90, running: 900 }), [], 'less than a tenth')
  t.strictSame(sentences({ lost: 100, running: 900 }).length, 1)
  t.strictSame(sentences({ scheduling: 900, running: 900 }), [], 'not longer than the run')
})
