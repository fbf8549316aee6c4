import t from 'tap'
import { counterPoints, findEnds } from '../../../../src/runs/convert/counter-points.ts'
import type { TimedMeasure, TimedTrack } from '../../../../src/runs/convert/timed-tracks.ts'

type Values = readonly (number | null)[]

/** Returns a track with a sample every two seconds, and with one measure. */
function trackOf(pid: number | null, values: Values, covers: TimedMeasure['covers'], from = 2) {
  const seconds = values.map((_, index) => from + 2 * index)
  const measure: TimedMeasure = { key: 'm', title: 'm', unit: '', covers }
  const one: TimedTrack = {
    ...{ metric: 'm', section: '', offset: 0, measures: [measure] },
    track: {
      ...{ source: 'log', program: 'lmp', container: null, pid, seconds },
      intervals: seconds.map(() => 2),
      values: [[...values]],
    },
  }
  return { one, measure, values }
}

/** Returns the points of the first track as pairs of seconds and values. */
function pointsOf(...tracks: readonly ReturnType<typeof trackOf>[]) {
  const ends = findEnds(tracks.map(({ one }) => one))
  const [first] = tracks
  if (first === undefined) throw new Error('there is no track')
  const points = counterPoints(first.one, first.measure, first.values, ends)
  return points.map(({ at, value }) => [at, value])
}

t.test('a mean is placed at the beginning of its interval, and a state at its time', async (t) => {
  t.strictSame(pointsOf(trackOf(1, [5, 6], 'interval')), [
    [0, 5],
    [2, 6],
  ])
  t.strictSame(pointsOf(trackOf(1, [5, 6], 'moment')), [
    [2, 5],
    [4, 6],
  ])
  t.strictSame(pointsOf(trackOf(1, [null, 6, 7], 'since-previous')), [
    [2, 6],
    [4, 7],
  ])
})

t.test('a value that could not be read has no point, and is not 0', async (t) => {
  t.strictSame(pointsOf(trackOf(1, [5, null, 6], 'moment')), [
    [2, 5],
    [6, 6],
  ])
  t.strictSame(pointsOf(trackOf(1, [null, null], 'moment')), [])
})

t.test('a measure that is always 0 has no points', async (t) => {
  t.strictSame(pointsOf(trackOf(1, [0, 0, null], 'interval')), [])
  t.equal(pointsOf(trackOf(1, [0, 0, 1], 'interval')).length, 3)
})

t.test('values end with 0 if other rows of the log come later', async (t) => {
  const later = trackOf(2, [1, 1, 1, 1], 'moment')
  t.strictSame(pointsOf(trackOf(1, [5, 6], 'interval'), later).at(-1), [4, 0])
  t.strictSame(pointsOf(trackOf(1, [5, 6], 'moment'), later).at(-1), [4, 0])
  t.strictSame(pointsOf(trackOf(2, [5, 6], 'moment'), later).at(-1), [4, 6], 'the process runs on')
  t.strictSame(pointsOf(trackOf(null, [5, 6], 'moment'), later).at(-1), [4, 6], 'not a process')
  t.strictSame(pointsOf(later).at(-1), [8, 1], 'the log ends')
})
