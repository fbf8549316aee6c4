import t from 'tap'
import { readQuantity, writeQuantity } from '../../../../src/core/kubernetes/quantity.ts'

/** The quantity 1. Quantities are counted in units of 10^-12. */
const ONE = 10n ** 12n

/** Quantities as they are written, and their amounts. */
const AMOUNTS: readonly [unknown, bigint][] = [
  ['0', 0n],
  ['1', ONE],
  ['+1', ONE],
  ['-1', -ONE],
  ['007', 7n * ONE],
  ['1.5', (3n * ONE) / 2n],
  ['1.', ONE],
  ['0.1', ONE / 10n],
  ['1n', ONE / 10n ** 9n],
  ['1u', ONE / 10n ** 6n],
  ['1m', ONE / 1000n],
  ['100m', ONE / 10n],
  ['-100m', -ONE / 10n],
  ['1k', 1000n * ONE],
  ['1M', 10n ** 6n * ONE],
  ['1G', 10n ** 9n * ONE],
  ['1T', 10n ** 12n * ONE],
  ['1P', 10n ** 15n * ONE],
  ['1E', 10n ** 18n * ONE],
  ['1Ki', 1024n * ONE],
  ['1Mi', 1024n ** 2n * ONE],
  ['1Gi', 1024n ** 3n * ONE],
  ['1Ti', 1024n ** 4n * ONE],
  ['1Pi', 1024n ** 5n * ONE],
  ['1Ei', 1024n ** 6n * ONE],
  ['1.5Gi', 1536n * 1024n ** 2n * ONE],
  ['0.5Ki', 512n * ONE],
  ['1e3', 1000n * ONE],
  ['1E3', 1000n * ONE],
  ['12e+2', 1200n * ONE],
  ['12e-1', (12n * ONE) / 10n],
  ['1.25e1', (125n * ONE) / 10n],
  ['9223372036854775807', 9223372036854775807n * ONE],
  [2, 2n * ONE],
  [0.5, ONE / 2n],
  [1e21, 10n ** 21n * ONE],
  [1e-7, ONE / 10n ** 7n],
  [0, 0n],
]

t.test('a quantity is read without rounding', async (t) => {
  for (const [written, amount] of AMOUNTS) t.equal(readQuantity(written), amount, `${written}`)
})

t.test('the same amount in two units is read as the same quantity', async (t) => {
  const pairs = [
    ['1', '1000m'],
    ['1Gi', '1024Mi'],
    ['0.1', '100m'],
    ['1e3', '1k'],
    ['1E', '1e18'],
    ['1.50', '1.5'],
    ['128974848', '123Mi'],
    ['1000u', '1m'],
  ] as const
  for (const [a, b] of pairs) t.equal(readQuantity(a), readQuantity(b), `${a} = ${b}`)
  t.not(readQuantity('1G'), readQuantity('1Gi'))
  t.not(readQuantity('1m'), readQuantity('1M'))
})

t.test('an invalid quantity is read as undefined', async (t) => {
  const rows: unknown[] = [
    '',
    ' ',
    ' 1',
    '1 ',
    '1\n',
    'one',
    '.',
    '1.2.3',
    '1,5',
    '--1',
    '1ki',
    '1K',
    '1mi',
    '1g',
    '1b',
    '1GB',
    '1e',
    '1e+',
    '1e3Ki',
    '1Kim',
    '0x10',
    '1_000',
    'NaN',
    'Infinity',
    Number.NaN,
    Number.POSITIVE_INFINITY,
    null,
    undefined,
    true,
    {},
    [],
    ['1'],
    1n,
  ]
  for (const written of rows) t.equal(readQuantity(written), undefined, String(written))
})

t.test('a huge exponent or a very long number is read as undefined', async (t) => {
  for (const written of ['1e999999999', '1e-999999999', `1${'0'.repeat(1_000_000)}`, '9e1000']) {
    t.equal(readQuantity(written), undefined, written.slice(0, 20))
  }
})

t.test('a quantity may begin with a decimal point', async (t) => {
  t.equal(readQuantity('.5'), readQuantity('500m'))
  t.equal(readQuantity('+.5'), readQuantity('0.5'))
  t.equal(readQuantity('.'), undefined)
  t.equal(readQuantity(''), undefined)
})

t.test('a quantity is written with the largest suffix that gives a whole number', async (t) => {
  const rows = [
    ['0', '0'],
    ['100m', '100m'],
    ['0.1', '100m'],
    ['1000m', '1'],
    ['2.5', '2500m'],
    ['1n', '1n'],
    ['20u', '20u'],
    ['32Mi', '32Mi'],
    ['1.5Gi', '1536Mi'],
    ['1024Mi', '1Gi'],
    ['2Ei', '2Ei'],
    ['2Ki', '2048'],
    ['1G', '1000000000'],
    ['-100m', '-100m'],
  ] as const
  for (const [written, text] of rows) {
    const value = readQuantity(written)
    t.equal(value === undefined ? '' : writeQuantity(value), text, written)
  }
})
