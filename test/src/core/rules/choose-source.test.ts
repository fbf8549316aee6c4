import t from 'tap'
import { chooseSource, type QuantitySource } from '../../../../src/core/rules/choose-source.ts'

const COMPLETE: QuantitySource = {
  isKnown: true,
  isCounted: true,
  coversEnded: true,
  isTotal: true,
  isWhole: true,
  order: 0,
}

t.test('the only source is chosen, even if its value is not known', async (t) => {
  const unknown = { ...COMPLETE, isKnown: false }
  t.strictSame(chooseSource([unknown]), { source: unknown, reason: 'the only source' })
  t.equal(chooseSource([]), undefined)
})

t.test('the most complete source is chosen, wherever it is in the catalog', async (t) => {
  const reasons = {
    isKnown: 'the only known value',
    isCounted: 'counted instead of sampled',
    coversEnded: 'includes processes that have ended',
    isTotal: 'counts between samples too',
    isWhole: 'nothing is missing in its log',
  } as const
  for (const [criterion, reason] of Object.entries(reasons)) {
    const source = { ...COMPLETE, order: 2 }
    const less = { ...COMPLETE, [criterion]: false, order: 1 }
    t.strictSame(chooseSource([less, source]), { source, reason })
    t.strictSame(chooseSource([source, less]), { source, reason })
  }
})

t.test('of equally complete sources, the first in the catalog is chosen', async (t) => {
  const [first, second] = [COMPLETE, { ...COMPLETE, order: 1 }]
  const chosen = { source: first, reason: 'first in the catalog' }
  t.strictSame(chooseSource([first, second]), chosen)
  t.strictSame(chooseSource([second, first]), chosen)
})

t.test('of equally complete logs of one metric, the first in the list is chosen', async (t) => {
  const [first, second] = [{ ...COMPLETE }, { ...COMPLETE }]
  const { source, reason } = chooseSource([first, second]) ?? {}
  t.equal(source, first)
  t.equal(reason, 'first of the logs of one metric')
})
