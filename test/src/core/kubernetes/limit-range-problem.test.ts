import t from 'tap'
import { askingPod, type Json, limitRange, type Ride, ride } from '../build.ts'

/** Reviews a pod in a namespace with one LimitRange for each item. */
const under = (items: readonly Json[], pod: Json = askingPod()): Ride => {
  return ride(pod, { rules: { limitRanges: items.map((item) => limitRange(item)) } })
}

const app = (resources: Json) => ({ containers: [{ name: 'app', image: 'lammps', resources }] })
const FULL = { cpu: '1', memory: '1Gi' }
const GUARANTEED = app({ requests: FULL, limits: FULL })

t.test(
  'a LimitRange with only defaults for cpu and memory does not change an observer',
  async (t) => {
    const { word, observers } = under([
      { default: { cpu: '2', memory: '2Gi' }, defaultRequest: { cpu: '1', memory: '1Gi' } },
    ])
    t.equal(word, 'injected')
    t.strictSame(observers['perf-sysstat']?.resources, {
      requests: { cpu: '0', memory: '0' },
      limits: { cpu: '100m', memory: '32Mi' },
    })
  },
)

/** An item, its problem with a BestEffort pod, and its problem with a Guaranteed pod. */
const ROWS: readonly (readonly [Json, string, string])[] = [
  [{ min: { cpu: '1m' } }, '', ''],
  [{ min: { cpu: '150m' } }, '', ''],
  [{ min: { cpu: '0', memory: '0' } }, '', ''],
  [
    { max: { memory: '16Mi' } },
    'maximum memory per Container is 16Mi, but perf-sysstat has a limit of 32Mi',
    'maximum memory per Container is 16Mi, but perf-sysstat has a limit of 32Mi',
  ],
  [{ max: { cpu: '100m', memory: '32Mi' } }, '', ''],
  [{ maxLimitRequestRatio: { cpu: '1' } }, '', ''],
  [
    { maxLimitRequestRatio: { 'ephemeral-storage': '1' } },
    'maximum limit/request ratio ephemeral-storage per Container is 1, but perf-sysstat requests 0',
    'maximum limit/request ratio ephemeral-storage per Container is 1, but perf-sysstat requests 0',
  ],
  [
    { type: 'Pod', max: { cpu: '1' } },
    '',
    'maximum cpu per Pod is 1, but the pod has a limit of 1100m',
  ],
  [
    { type: 'Pod', min: { memory: '1Gi' } },
    'minimum memory per Pod is 1Gi, but the pod requests 0',
    '',
  ],
  [{ type: 'Pod', maxLimitRequestRatio: { memory: '1' } }, '', ''],
  [{ type: 'PersistentVolumeClaim', min: { cpu: '9' } }, '', ''],
]

for (const [item, burstable, guaranteed] of ROWS) {
  const [first, second] = [burstable, guaranteed].map((problem) => (problem ? 'forbids' : 'allows'))
  const title = `${first} observers of BestEffort pods, and ${second} observers of Guaranteed pods`
  t.test(`a LimitRange with ${JSON.stringify(item)} ${title}`, async (t) => {
    for (const [pod, problem] of [
      [askingPod(), burstable],
      [askingPod(GUARANTEED), guaranteed],
    ] as const) {
      const { word, message } = under([item], pod)
      t.equal(word, problem === '' ? 'injected' : 'limit-range')
      if (problem !== '') t.equal(message, `LimitRange "small": ${problem}`)
    }
  })
}

t.test('a bound applies to the sum of all observers, and every LimitRange applies', async (t) => {
  const both = { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' }
  const item = { type: 'Pod', max: { cpu: '1150m' } }
  t.equal(under([item], askingPod(GUARANTEED)).word, 'injected')
  const { word, left } = under([item], askingPod(GUARANTEED, both))
  t.equal(word, 'injected')
  t.strictSame(left, { 'io-sysstat': 'limit-range' }, 'the last metric is left')
  t.equal(under([{ max: { cpu: '2' } }, { max: { cpu: '50m' } }]).word, 'limit-range')
})

t.test('defaults of a LimitRange for containers also apply to the observer', async (t) => {
  t.equal(under([{ default: { 'ephemeral-storage': '1' } }]).word, 'injected')
  const bounds = { default: { 'ephemeral-storage': '1Gi' }, min: { 'ephemeral-storage': '1Gi' } }
  t.equal(under([bounds]).word, 'injected', 'the default satisfies the minimum')
  t.equal(under([{ type: 'Pod', min: { 'ephemeral-storage': '1Gi' } }]).word, 'limit-range')
})

t.test('an observer does not get the default of a scarce resource', async (t) => {
  for (const name of ['nvidia.com/gpu', 'hugepages-2Mi']) {
    const { word, observers } = under([{ default: { [name]: '1' } }])
    t.equal(word, 'injected', name)
    t.strictSame(observers['perf-sysstat']?.resources, {
      requests: { cpu: '0', memory: '0', [name]: '0' },
      limits: { cpu: '100m', memory: '32Mi', [name]: '0' },
    })
  }
  t.match(under([{ min: { 'nvidia.com/gpu': '1' } }]), {
    word: 'limit-range',
    message: /minimum nvidia.com\/gpu per Container is 1, but perf-sysstat requests 0/,
  })
})

t.test(
  'the defaults for an observer must fit into the pod-level resources of its pod',
  async (t) => {
    const own = { requests: { cpu: '1' }, limits: { cpu: '1' } }
    const pod = (request: string, annotations = {}) =>
      askingPod({ ...app({ requests: { cpu: request } }), resources: own }, annotations)
    t.equal(under([{ defaultRequest: { cpu: '500m' } }], pod('500m')).word, 'injected')
    const explicit = under([{ defaultRequest: { cpu: '500m' } }], pod('600m'))
    t.match(explicit.observers['perf-sysstat']?.resources, { requests: { cpu: '0' } })
    t.match(under([{ min: { cpu: '500m' } }], pod('600m')), {
      word: 'limit-range',
      message:
        /^with the requests that .* observers, the containers request more cpu than the pod$/,
    })
    const container = { 'ridealong.dev/mode': 'container' }
    const wide = { default: { cpu: '2' }, defaultRequest: { cpu: '0' } }
    t.equal(under([wide], pod('0')).word, 'injected', 'the limit of an init container is ignored')
    const fitted = under([wide], pod('0', container))
    t.equal(fitted.word, 'injected', 'the observer has the limit of the catalog')
    t.match(fitted.observers['perf-sysstat']?.resources, { limits: { cpu: '100m' } })
    t.match(under([{ ...wide, min: { cpu: '1100m' } }], pod('0', container)), {
      word: 'limit-range',
      message: 'a LimitRange gives perf-sysstat a limit for cpu above the limit of the pod',
    })
  },
)

t.test(
  'if the defaults of two LimitRanges contradict each other, the request is the limit',
  async (t) => {
    const disk = (amount: string) => ({ 'ephemeral-storage': amount })
    const [request, limit] = [{ defaultRequest: disk('2Gi') }, { default: disk('1Gi') }]
    const { word, observers } = under([request, limit])
    t.equal(word, 'injected')
    t.match(observers['perf-sysstat']?.resources, { requests: disk('1Gi') })
    t.equal(under([limit, request]).word, 'injected', 'the first default is used')
  },
)

t.test(
  'a maximum per Pod applies to pod-level cpu, and to the huge pages of the containers',
  async (t) => {
    const pages = (amount: string) => ({ cpu: '1', 'hugepages-2Mi': amount })
    const podResources = { limits: pages('6Mi'), requests: pages('6Mi') }
    const pod = askingPod({
      ...app({ limits: pages('2Mi'), requests: pages('2Mi') }),
      resources: podResources,
    })
    t.equal(under([{ type: 'Pod', max: { 'hugepages-2Mi': '4Mi' } }], pod).word, 'injected')
    t.equal(under([{ type: 'Pod', max: { cpu: '500m' } }], pod).word, 'limit-range')
  },
)
