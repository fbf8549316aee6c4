import t from 'tap'
import {
  filled,
  greatest,
  readResourceList,
  sum,
  unreadableIn,
} from '../../../../src/core/kubernetes/resource-list.ts'

const written = { cpu: '100m', memory: 1024, 'example.com/gpu': '1' }
const UNIT = 10n ** 12n

t.test(
  'the quantities of a resource list are read, and invalid quantities are ignored',
  async (t) => {
    t.strictSame(
      [...readResourceList({ ...written, storage: 'much', __proto__: { x: '1' } })],
      [
        ['cpu', UNIT / 10n],
        ['memory', 1024n * UNIT],
        ['example.com/gpu', UNIT],
      ],
    )
  },
)

t.test('unreadableIn() returns the name of a resource with an invalid quantity', async (t) => {
  t.equal(unreadableIn(written), undefined)
  t.equal(unreadableIn({ ...written, storage: '1 Gi' }), 'storage')
})

const a = new Map([
  ['cpu', 1n],
  ['memory', 5n],
])
const b = new Map([
  ['memory', 3n],
  ['gpu', 7n],
])
const sorted = (amounts: ReadonlyMap<string, bigint>) => [...amounts].sort()

t.test(
  'resource lists are filled, summed and compared by resource, and are not changed',
  async (t) => {
    const rows = [
      [filled(a, b), 5n],
      [sum([a, b]), 8n],
      [greatest([a, b]), 5n],
      [greatest([b, a]), 5n],
      [filled(b, a), 3n],
    ] as const
    for (const [amounts, memory] of rows) {
      t.strictSame(sorted(amounts), [
        ['cpu', 1n],
        ['gpu', 7n],
        ['memory', memory],
      ])
    }
    t.strictSame([a.size, b.size], [2, 2])
  },
)
