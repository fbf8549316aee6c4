import t from 'tap'
import { durationText, durationTexts } from '../../../src/lib/duration.ts'

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

const COMPARED: readonly (readonly [one: number, other: number, texts: readonly string[]])[] = [
  [12_029, 7000, ['3 h 20 min', '116 min 40 s']],
  [12_029, 12_029, ['3 h 20 min', '3 h 20 min']],
  [12_029, 11_981, ['12029 s', '11981 s']],
  [100.4, 99.96, ['100.4 s', '99.96 s']],
  [9.43001, 9.43002, ['9.43001 s', '9.43002 s']],
  [100, 100 + 1e-9, ['100 s', '100 s']],
]

for (const [one, other, texts] of COMPARED)
  t.test(`${one} and ${other} seconds are shown as ${texts.join(' and ')}`, async (t) => {
    t.strictSame(durationTexts(one, other), texts)
  })
