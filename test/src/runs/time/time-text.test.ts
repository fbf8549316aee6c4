import t from 'tap'
import { readTimeDocument, timeDocument } from '../../../../src/runs/time/time-document.ts'
import { formatTime } from '../../../../src/runs/time/time-text.ts'
import { timeOf } from './time-of.ts'

t.test('a bar has a letter for each part, in their order', async (t) => {
  const time = timeOf({ scheduling: 10, running: 60, lost: 25, unknown: 5 })
  t.strictSame(formatTime(time, 22), [
    'Time since its creation: 100 s',
    '[ssrrrrrrrrrrrrxxxxx?]',
    {
      rows: [
        ['s', 'waiting to be scheduled', '10 s', '10 %'],
        ['r', 'running', '60 s', '60 %'],
        ['x', 'lost to 2 restarts', '25 s', '25 %'],
        ['?', 'not known', '5 s', '5 %'],
      ],
      indent: 2,
    },
  ])
})

t.test('an attempt is lost before the next one starts', async (t) => {
  const [, , table] = formatTime({ ...timeOf({ lost: 60 }), restarts: 0 }, 20)
  t.match(table, { rows: [['x', 'lost to an attempt that failed', '60 s', '100 %']] })
})

t.test('the parts of several pods are means', async (t) => {
  const [title, , table] = formatTime(timeOf({ running: 60, ending: 20 }, 4), 20)
  t.equal(title, 'Time since its creation: 20 s, mean of 4 pods')
  t.match(table, { rows: [['r', 'running', '15 s', '75 %'], ['e']] })
})

t.test('a time without length has an empty bar', async (t) => {
  t.equal(formatTime(timeOf({}), 20)[1], '[]')
})

t.test('a document is read as it was written', async (t) => {
  const time = timeOf({ running: 60.5, lost: 3 }, 2)
  t.strictSame(readTimeDocument(JSON.parse(JSON.stringify(timeDocument(time)))), time)
  t.equal(readTimeDocument(null), null)
  t.match(
    readTimeDocument({
      from: '2026-11-30T12:00:00Z',
      to: '2026-11-30T12:00:09Z',
      seconds: { running: -1 },
    }),
    {
      places: 0,
      seconds: { running: 0 },
      reasons: [],
    },
  )
})
