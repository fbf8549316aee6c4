import t from 'tap'
import { readPod } from '../../../../src/core/kubernetes/pod.ts'
import { readPodResources } from '../../../../src/core/kubernetes/pod-resources.ts'
import { writeQuantity } from '../../../../src/core/kubernetes/quantity.ts'
import { computeUsage, isBestEffort } from '../../../../src/core/kubernetes/quota-problem.ts'
import { askingPod, type Json, type Ride, resourceQuota, ride, type Texts } from '../build.ts'

/** Reviews a pod in a namespace with these quotas and, in `more`, LimitRanges. */
const under = (
  quotas: readonly Json[],
  pod: Json = askingPod(),
  more: readonly Json[] = [],
): Ride => ride(pod, { rules: { resourceQuotas: quotas, limitRanges: more } })

const app = (resources: Json) => ({ containers: [{ name: 'app', image: 'lammps', resources }] })
const FULL = { cpu: '1', memory: '1Gi' }
const BURSTABLE = askingPod(app({ requests: FULL, limits: { cpu: '2', memory: '2Gi' } }))
const GUARANTEED = askingPod(app({ requests: FULL, limits: FULL }))

t.test('an observer with requests of 0 needs nothing of a quota on requests', async (t) => {
  const hard = { 'requests.cpu': '4', cpu: '4', 'requests.memory': '1Gi', pods: '1' }
  t.equal(
    under([resourceQuota(hard, { 'requests.cpu': '3', cpu: '3' })], BURSTABLE).word,
    'injected',
  )
})

t.test('the observer of a Guaranteed pod needs a part of the quota on requests', async (t) => {
  const left = (used: string) =>
    under([resourceQuota({ 'requests.cpu': '4' }, { 'requests.cpu': used })], GUARANTEED)
  t.equal(left('2900m').word, 'injected', 'the rest of the quota is exactly enough')
  t.match(left('2901m'), {
    word: 'quota',
    message:
      'ResourceQuota "compute": with its observers, the pod needs 1100m of requests.cpu;' +
      ' 2901m of 4 is used',
  })
})

t.test('an observer is not added if its limits exceed the rest of a quota on limits', async (t) => {
  const rows: [Texts, Texts, string][] = [
    [{ 'limits.cpu': '2100m' }, {}, 'injected'],
    [{ 'limits.cpu': '2099m' }, {}, 'quota'],
    [{ 'limits.memory': '2080Mi' }, {}, 'injected'],
    [{ 'limits.memory': '2079Mi' }, {}, 'quota'],
    [{ 'limits.memory': '10Gi' }, { 'limits.memory': '8Gi' }, 'quota'],
    [{ 'limits.nvidia.com/gpu': '0' }, {}, 'injected'],
  ]
  for (const [hard, used, word] of rows) {
    t.equal(under([resourceQuota(hard, used)], BURSTABLE).word, word, JSON.stringify(hard))
  }
})

t.test(
  'a quota does not prevent an observer that adds nothing to the resources of the quota',
  async (t) => {
    const spent = {
      pods: '0',
      'count/pods': '0',
      'requests.cpu': '500m',
      'requests.nvidia.com/gpu': '0',
    }
    t.equal(under([resourceQuota(spent)], BURSTABLE).word, 'injected')
  },
)

t.test('an observer is not added if a quota is used up', async (t) => {
  const full = resourceQuota({ 'limits.cpu': '2' }, { 'limits.cpu': '2' })
  t.equal(under([full], BURSTABLE).word, 'quota', 'without the observer, the pod may fit later')
})

t.test(
  'a BestEffort pod becomes Burstable, and quotas with the scope NotBestEffort apply',
  async (t) => {
    const scoped = (scope: string, hard: Texts) => resourceQuota(hard, {}, { scopes: [scope] })
    const none = { pods: '0' }
    t.match(under([scoped('NotBestEffort', none)]), {
      word: 'quota',
      message:
        'ResourceQuota "compute": with its observers, the pod needs 1 of pods; 0 of 0 is used',
    })
    t.match(under([scoped('NotBestEffort', { 'requests.cpu': '4' })]), {
      word: 'quota',
      message: 'ResourceQuota "compute": every container must set requests.cpu, and "app" does not',
    })
    t.equal(
      under([scoped('NotBestEffort', { pods: '1' })]).word,
      'injected',
      'the quota permits one pod',
    )
    t.equal(
      under([scoped('BestEffort', none)]).word,
      'injected',
      'the quota no longer applies to the pod',
    )
    t.equal(
      under([scoped('NotBestEffort', none)], BURSTABLE).word,
      'injected',
      'the quota also applies without the observer',
    )
    const nothing = askingPod(app({ requests: { cpu: '0' } }))
    const overdrawn = resourceQuota(
      { 'requests.cpu': '1' },
      { 'requests.cpu': '2' },
      { scopes: ['NotBestEffort'] },
    )
    t.equal(under([overdrawn], nothing).word, 'injected', 'the observer adds no requests')
    const own = askingPod({ resources: { requests: { cpu: '0' } } })
    t.equal(
      under([scoped('NotBestEffort', none)], own).word,
      'injected',
      'pod-level resources determine the QoS class',
    )
  },
)

t.test('a quota whose scope does not contain the pod is ignored', async (t) => {
  const quota = resourceQuota({ 'limits.cpu': '0' }, {}, { scopes: ['Terminating'] })
  t.equal(under([quota], BURSTABLE).word, 'injected')
  t.equal(under([resourceQuota({ 'limits.cpu': '9' }), quota], BURSTABLE).word, 'injected')
  t.equal(
    under([resourceQuota({ 'limits.cpu': '9' }), resourceQuota({ 'limits.cpu': '0' })], BURSTABLE)
      .word,
    'quota',
  )
})

t.test(
  'an observer has every cpu and memory value that a quota requires of containers',
  async (t) => {
    const all = ['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory']
    const quota = resourceQuota(Object.fromEntries(all.map((name) => [name, '9Gi'])))
    t.equal(under([quota], BURSTABLE).word, 'injected')
    t.equal(under([quota], GUARANTEED).word, 'injected')
    const podLevel = askingPod({ resources: { limits: FULL, requests: FULL } })
    t.equal(under([quota], podLevel).word, 'injected', 'pod-level resources are sufficient')
  },
)

t.test(
  'the defaults that a LimitRange gives to the observer are compared with a quota',
  async (t) => {
    const quota = resourceQuota({ 'requests.ephemeral-storage': '1Gi' })
    const range = {
      metadata: { name: 'x' },
      spec: { limits: [{ type: 'Container', defaultRequest: { 'ephemeral-storage': '600Mi' } }] },
    }
    t.equal(under([quota], BURSTABLE).word, 'injected')
    t.equal(under([quota], BURSTABLE, [range]).word, 'quota')
  },
)

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
