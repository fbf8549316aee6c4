import t from 'tap'
import { readLimitRange } from '../../../../src/core/kubernetes/limit-range.ts'
import { writeQuantity } from '../../../../src/core/kubernetes/quantity.ts'
import type { Json } from '../build.ts'

const read = (...limits: readonly unknown[]) =>
  readLimitRange({ metadata: { name: 'small' }, spec: { limits } })

const texts = (amounts: ReadonlyMap<string, bigint>) =>
  Object.fromEntries([...amounts].map(([name, amount]) => [name, writeQuantity(amount)]))

t.test('missing defaults of a LimitRange are added as the apiserver adds them', async (t) => {
  const rows: [Json, Json, Json][] = [
    [{ max: { cpu: '2' } }, { cpu: '2' }, { cpu: '2' }],
    [{ min: { cpu: '1' } }, {}, { cpu: '1' }],
    [{ min: { cpu: '1' }, max: { cpu: '2' } }, { cpu: '2' }, { cpu: '2' }],
    [{ default: { cpu: '1' }, max: { cpu: '2' } }, { cpu: '1' }, { cpu: '1' }],
    [{ default: { cpu: '2' }, defaultRequest: { cpu: '1' } }, { cpu: '2' }, { cpu: '1' }],
    [{ default: { cpu: '2' }, min: { memory: '1Mi' } }, { cpu: '2' }, { cpu: '2', memory: '1Mi' }],
    [{ maxLimitRequestRatio: { cpu: '2' } }, {}, {}],
  ]
  for (const [item, limits, requests] of rows) {
    const { defaults } = read({ type: 'Container', ...item })
    t.same(texts(defaults.limits), limits, JSON.stringify(item))
    t.same(texts(defaults.requests), requests, JSON.stringify(item))
  }
})

t.test(
  'a LimitRange has each default of the last item that sets it, and the bounds of all items',
  async (t) => {
    const { defaults, bounds } = read(
      { type: 'Container', default: { cpu: '1', memory: '1Mi' } },
      { type: 'Container', default: { cpu: '2' } },
    )
    t.same(texts(defaults.limits), { cpu: '2', memory: '1Mi' })
    t.equal(bounds.length, 2)
  },
)

t.test(
  'items for PersistentVolumeClaims are ignored, and items for pods have no defaults',
  async (t) => {
    const { bounds, defaults } = read(
      { type: 'Pod', max: { cpu: '2' }, default: { cpu: '9' } },
      { type: 'PersistentVolumeClaim', max: { storage: '1Gi' } },
    )
    t.equal(defaults.limits.size, 0, 'items for pods have no defaults')
    t.strictSame(
      bounds.map(({ type, max }) => [type, texts(max)]),
      [['Pod', { cpu: '2' }]],
    )
  },
)

t.test('invalid values of a LimitRange are ignored', async (t) => {
  for (const object of [undefined, null, 7, {}, { spec: { limits: [null, 'x', { type: 7 }] } }]) {
    const { name, bounds, defaults } = readLimitRange(object)
    t.strictSame([name, bounds, defaults.limits.size], ['', [], 0])
  }
})
