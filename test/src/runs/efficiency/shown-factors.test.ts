import t from 'tap'
import { factor, missingFactor } from '../../../../src/runs/efficiency/factor.ts'
import { shownFactors } from '../../../../src/runs/efficiency/shown-factors.ts'

t.test('a factor says to what the rest of the time was lost, if anything was', async (t) => {
  const parts = [
    factor('platform', 0.2),
    factor('storage', 0.9951),
    missingFactor('activity', 'it was not read'),
  ]
  const shown = shownFactors(factor('efficiency', 0.2, { parts }))
  t.strictSame(
    shown.map(({ title, depth, text, loss }) => [title, depth, text, loss]),
    [
      ['Efficiency', 0, '0.20', null],
      ['Platform', 1, '0.20', 'waiting for a processor'],
      ['Storage', 1, '1.00', null],
      ['Activity', 1, 'not known: it was not read', null],
    ],
  )
})

t.test('a value that waiting for processors may have lowered has its least value', async (t) => {
  const textOf = (least: number) => shownFactors(factor('platform', 0.9, { least }))[0]?.text
  t.equal(textOf(0.8), '0.90, at least 0.80')
  t.equal(textOf(0.86), '0.90')
  t.equal(textOf(0), 'at most 0.90')
})
