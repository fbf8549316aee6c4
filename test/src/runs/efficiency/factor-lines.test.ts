import t from 'tap'
import { factor, missingFactor } from '../../../../src/runs/efficiency/factor.ts'
import { factorLines } from '../../../../src/runs/efficiency/factor-lines.ts'

t.test('each factor is shown as the product of its factors', async (t) => {
  const balance = factor('load-balance', 0.8, {
    parts: [factor('balance-between-pods', 1), factor('balance-within-pods', 0.8)],
  })
  const both = factor('communication-and-platform', 0.5, {
    parts: [missingFactor('communication', 'no rows'), missingFactor('platform', 'no rows')],
  })
  t.strictSame(factorLines(factor('efficiency', 0.4, { parts: [balance, both] })), [
    'Efficiency 0.40 = load balance 0.80 × communication and platform 0.50',
    '  Load balance 0.80 = between pods 1.00 × within pods 0.80',
    'Time was lost to: MPI and waiting (communication and platform), uneven work (load balance)',
    'Communication, platform: not known: no rows',
  ])
})

t.test('the factor to which most of the time was lost comes first', async (t) => {
  const both = factor('communication-and-platform', 0.45, {
    parts: [factor('communication', 0.9), factor('platform', 0.5)],
  })
  const root = factor('efficiency', 0.45, { parts: [factor('load-balance', 0.999), both] })
  t.equal(
    factorLines(root).at(-1),
    'Time was lost to: waiting for a processor (platform), MPI (communication)',
  )
})

t.test('nothing is lost to the efficiency if none of its factors is known', async (t) => {
  const root = factor('efficiency', 0.5, { parts: [missingFactor('platform', 'no rows')] })
  t.strictSame(factorLines(root), ['Platform: not known: no rows'])
})

t.test('an efficiency that is not known has no lines', async (t) => {
  t.strictSame(factorLines(missingFactor('efficiency', 'no rows')), [])
})
