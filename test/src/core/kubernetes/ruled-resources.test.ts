import t from 'tap'
import { readLimitRange } from '../../../../src/core/kubernetes/limit-range.ts'
import { readQuota } from '../../../../src/core/kubernetes/quota.ts'
import { ruledResources } from '../../../../src/core/kubernetes/ruled-resources.ts'
import { limitRange, resourceQuota } from '../build.ts'

const amountOf = (name: string) => ({ [name]: '1' })

t.test('every resource that a LimitRange or a quota names is included', async (t) => {
  const ranges = [
    limitRange({ default: amountOf('a'), defaultRequest: amountOf('b') }),
    limitRange({
      type: 'Pod',
      min: amountOf('c'),
      max: amountOf('d'),
      maxLimitRequestRatio: amountOf('e'),
    }),
  ]
  const quotas = [resourceQuota({ 'requests.example.com/gpu': '1', 'limits.f': '1', g: '1' })]
  const names = ruledResources(ranges.map(readLimitRange), quotas.map(readQuota))
  for (const name of ['a', 'b', 'c', 'd', 'e', 'example.com/gpu', 'f', 'g', 'cpu', 'memory']) {
    t.ok(names.has(name), `${name} is included`)
  }
})

t.test('cpu and memory are included without LimitRanges and quotas', async (t) => {
  t.strictSame([...ruledResources([], [])], ['cpu', 'memory'])
})
