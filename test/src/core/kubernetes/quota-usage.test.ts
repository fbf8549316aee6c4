import t from 'tap'
import { readPod } from '../../../../src/core/kubernetes/pod.ts'
import { readPodResources } from '../../../../src/core/kubernetes/pod-resources.ts'
import { writeQuantity } from '../../../../src/core/kubernetes/quantity.ts'
import { computeUsage, isBestEffort } from '../../../../src/core/kubernetes/quota-usage.ts'
import type { Json } from '../build.ts'

const read = (resources: Json, more: Json = {}) => {
  const pod = readPod({ metadata: {}, spec: { containers: [{ name: 'a', resources }], ...more } })
  if ('problem' in pod) throw new Error(pod.problem)
  return readPodResources(pod, [])
}
const usage = (resources: Json, more: Json = {}) => {
  const {
    pods,
    'count/pods': count,
    ...rest
  } = Object.fromEntries(computeUsage(read(resources, more)))
  return Object.fromEntries(
    Object.entries(rest).map(([name, amount]) => [name, writeQuantity(amount ?? -1n)]),
  )
}

t.test('a pod without resources uses one pod of a quota', async (t) => {
  const amounts = computeUsage(read({}))
  t.strictSame([...amounts.keys()], ['pods', 'count/pods'])
  for (const amount of amounts.values()) t.equal(writeQuantity(amount), '1')
})

t.test('each resource of a pod is listed under all names that quotas use', async (t) => {
  const requests = { cpu: '1', 'hugepages-2Mi': '4Mi', 'example.com/gpu': '2' }
  t.same(usage({ requests, limits: { ...requests, cpu: '2' } }), {
    cpu: '1',
    'requests.cpu': '1',
    'limits.cpu': '2',
    'hugepages-2Mi': '4Mi',
    'requests.hugepages-2Mi': '4Mi',
    'requests.example.com/gpu': '2',
  })
})

t.test(
  'pod-level resources replace the sum over the containers, and overhead is added',
  async (t) => {
    const own = { resources: { requests: { cpu: '3' }, limits: { cpu: '4' } } }
    const overhead = { cpu: '500m', memory: '1Mi' }
    t.match(usage({ requests: { cpu: '1' } }, own), { 'requests.cpu': '3', 'limits.cpu': '4' })
    t.same(usage({ limits: { cpu: '1' } }, { overhead }), {
      cpu: '1500m',
      'requests.cpu': '1500m',
      'limits.cpu': '1500m',
      memory: '1Mi',
      'requests.memory': '1Mi',
    })
    const none = usage({ limits: { cpu: '0' } }, { overhead })
    t.strictSame(
      [none['limits.cpu'], none['requests.cpu']],
      ['0', '500m'],
      'overhead is not added to a limit of 0',
    )
  },
)

t.test('a pod has pod-level resources only if they name cpu, memory or huge pages', async (t) => {
  const rows: [unknown, boolean][] = [
    [undefined, false],
    [{}, false],
    [{ requests: { cpu: '1' } }, true],
    [{ limits: { 'hugepages-2Mi': '2Mi' } }, true],
    [{ limits: { 'example.com/gpu': '1' } }, false],
  ]
  for (const [resources, isSet] of rows) {
    t.equal(read({}, { resources }).isSetByPod, isSet, JSON.stringify(resources))
  }
})

t.test(
  'a pod is BestEffort without cpu and memory at the pod level, or else in its containers',
  async (t) => {
    const rows: [Json, Json, boolean][] = [
      [{}, {}, true],
      [{ requests: { cpu: '0' }, limits: { memory: '0' } }, {}, true],
      [{ requests: { 'ephemeral-storage': '1Gi' } }, {}, true],
      [{ limits: { memory: '1Mi' } }, {}, false],
      [{ requests: { cpu: '1m' } }, {}, false],
      [{}, { initContainers: [{ name: 'i', resources: { requests: { cpu: '1m' } } }] }, false],
      [{}, { resources: { requests: { cpu: '1m' } } }, false],
      [{ requests: { cpu: '1m' } }, { resources: {} }, true],
    ]
    for (const [resources, more, isBest] of rows) {
      t.equal(isBestEffort(read(resources, more)), isBest, JSON.stringify([resources, more]))
    }
  },
)
