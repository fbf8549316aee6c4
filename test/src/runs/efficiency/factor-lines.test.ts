import t from 'tap'
import { factor, missingFactor } from '../../../../src/runs/efficiency/factor.ts'
import { factorLines, unknownText } from '../../../../src/runs/efficiency/factor-lines.ts'

t.test('each factor is shown as the product of its factors', async (t) => {
  const balance = factor('load-balance', 0.8, {
    parts: [factor('balance-between-pods', 1), factor('balance-within-pods', 0.8)],
  })
  const both = factor('communication-and-platform', 0.5, {
    parts: [
      missingFactor('communication', 'there are no rows'),
      missingFactor('platform', 'there are no rows'),
    ],
  })
  t.strictSame(factorLines(factor('efficiency', 0.4, { parts: [balance, both] }), []), [
    'Efficiency 0.40 = load balance 0.80 × communication and platform 0.50',
    '  Load balance 0.80 = between pods 1.00 × within pods 0.80',
    'The other 60 % of the time: MPI and waiting (communication and platform), uneven work (load ' +
      'balance)',
    'Not known: communication, platform, as there are no rows',
  ])
})

t.test('the factor to which most of the time was lost comes first', async (t) => {
  const both = factor('communication-and-platform', 0.45, {
    parts: [factor('communication', 0.9), factor('platform', 0.5)],
  })
  const root = factor('efficiency', 0.45, { parts: [factor('load-balance', 0.99), both] })
  t.equal(
    factorLines(root, []).at(-1),
    'The other 55 % of the time: waiting for a processor, also in MPI for a rank without one ' +
      '(platform), MPI (communication)',
    'the work was even, and is not named',
  )
})

t.test('nothing is lost to the efficiency if none of its factors is known', async (t) => {
  const root = factor('efficiency', 0.5, {
    parts: [missingFactor('platform', 'there are no rows')],
  })
  t.strictSame(factorLines(root, []), ['Not known: platform, as there are no rows'])
})

t.test('an efficiency that is not known has no lines', async (t) => {
  t.strictSame(factorLines(missingFactor('efficiency', 'there are no rows'), []), [])
})

t.test('a product has only the known factors, and then says what is not known', async (t) => {
  const parts = [factor('platform', 0.98), missingFactor('storage', 'there are no rows')]
  const root = factor('efficiency', 0.98, { parts })
  t.strictSame(factorLines(root, [{ polled: 'MPI' }, { polled: null }]), [
    'Efficiency 0.98 = platform 0.98 (known factors only)',
    'The other 2 % of the time: waiting for a processor (platform)',
    'Not known: storage, as there are no rows; waiting in MPI, which was not looked at and ' +
      'counts as running',
  ])
  const missing = missingFactor('efficiency', 'there are no rows')
  t.equal(unknownText(missing, [{ polled: 'MPI' }]), 'Not known: efficiency, as there are no rows')
  t.equal(unknownText(factor('efficiency', 1), []), '')
})
