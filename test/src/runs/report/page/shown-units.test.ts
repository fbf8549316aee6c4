import t from 'tap'
import { mostOf, shownUnit } from '../../../../../src/runs/report/page/shown-units.ts'

t.test('amounts of bytes count in 1024, and rates in 1000', async (t) => {
  const shown = (value: number, unit: string) => {
    const { unit: words, factor } = shownUnit(unit, value)
    return `${Number((value * factor).toPrecision(6))} ${words}`
  }
  t.equal(shown(1023, 'bytes'), '1023 bytes')
  t.equal(shown(3 * 1024 ** 2, 'bytes'), '3 MiB')
  t.equal(shown(2048, 'KiB'), '2 MiB')
  t.equal(shown(999, 'bytes/s'), '999 bytes/s')
  t.equal(shown(1000, 'KiB/s'), '1.024 MB/s')
  t.equal(shown(2e9, 'bytes/s'), '2 GB/s')
  t.equal(shown(1e12, 'bytes/s'), '1000 GB/s')
})

t.test('other units are words, or stay', async (t) => {
  t.strictSame(shownUnit('s/s', 0.5), { unit: '% of the time', factor: 100 })
  t.strictSame(shownUnit('/s', 1), { unit: 'per second', factor: 1 })
  t.strictSame(shownUnit('°C', 1), { unit: '°C', factor: 1 })
})

t.test('the greatest value is absolute, and ignores gaps', async (t) => {
  t.equal(mostOf([null, '', -4, 3, undefined]), 4)
  t.equal(mostOf([]), 0)
})
