import t from 'tap'
import { writeQuantity } from '../../../../src/core/kubernetes/quantity.ts'
import { readQuota } from '../../../../src/core/kubernetes/quota.ts'

const cpuOf = (object: unknown) => {
  const { hard, used } = readQuota(object)
  return [hard, used].map((amounts) => amounts.get('cpu')).map((cpu) => cpu && writeQuantity(cpu))
}

t.test('the amounts of a quota with a status are read from the status', async (t) => {
  const spec = { hard: { cpu: '4' } }
  t.strictSame(cpuOf({ spec, status: { hard: { cpu: '3' }, used: { cpu: '1' } } }), ['3', '1'])
  t.strictSame(cpuOf({ spec, status: { hard: {} } }), [undefined, undefined])
})

t.test('the amounts of a quota without a status are read from the spec', async (t) => {
  t.strictSame(cpuOf({ spec: { hard: { cpu: '4' } } }), ['4', undefined])
  t.strictSame(cpuOf({ spec: { hard: { cpu: '4' } }, status: {} }), ['4', undefined])
})

t.test('invalid values of a quota are ignored', async (t) => {
  for (const object of [undefined, 'x', { spec: [] }, { status: { hard: { cpu: [] } } }]) {
    const { name, hard, used, scopes } = readQuota(object)
    t.strictSame([name, hard.size, used.size, scopes], ['', 0, 0, []])
  }
})
