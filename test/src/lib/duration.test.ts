import t from 'tap'
import { durationText } from '../../../src/lib/duration.ts'

const DURATIONS: readonly (readonly [seconds: number, text: string])[] = [
  [0, '0 s'],
  [0.000088, '88 µs'],
  [0.0012, '0.0012 s'],
  [9.434, '9.43 s'],
  [15.23, '15.2 s'],
  [68, '68 s'],
  [119.49, '119 s'],
  [119.5, '2 min'],
  [125, '2 min 5 s'],
  [7199.6, '2 h'],
  [12_029, '3 h 20 min'],
  [172_800, '2 d'],
  [187_200, '2 d 4 h'],
  [-9.434, '-9.43 s'],
]

for (const [seconds, text] of DURATIONS)
  t.test(`${seconds} seconds are shown as ${text}`, async (t) => {
    t.equal(durationText(seconds), text)
  })
