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
  [{ min: { cpu: '1m' } }, 'minimum cpu per Container is 1m, but perf-sysstat requests 0', ''],
  [
    { min: { cpu: '150m' } },
    'minimum cpu per Container is 150m, but perf-sysstat requests 0',
    'minimum cpu per Container is 150m, but perf-sysstat requests 100m',
  ],
  [{ min: { cpu: '0', memory: '0' } }, '', ''],
  [
    { max: { memory: '16Mi' } },
    'maximum memory per Container is 16Mi, but perf-sysstat has a limit of 32Mi',
    'maximum memory per Container is 16Mi, but perf-sysstat has a limit of 32Mi',
  ],
  [{ max: { cpu: '100m', memory: '32Mi' } }, '', ''],
  [
    { maxLimitRequestRatio: { cpu: '1' } },
    'maximum limit/request ratio cpu per Container is 1, but perf-sysstat requests 0',
    '',
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
  [
    { type: 'Pod', maxLimitRequestRatio: { memory: '1' } },
    'maximum limit/request ratio memory per Pod is 1, but the pod requests 0',
    '',
  ],
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

t.test(
  'the limit of a pod without limits is the limit of its observer, possibly below a minimum',
  async (t) => {
    const pod = askingPod(app({ requests: { cpu: '1' } }))
    const { message } = under([{ type: 'Pod', min: { cpu: '200m' } }], pod)
    t.match(message, 'minimum cpu per Pod is 200m, but the pod has a limit of 100m')
  },
)

t.test('a bound applies to the sum of all observers, and every LimitRange applies', async (t) => {
  const both = { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' }
  const item = { type: 'Pod', max: { cpu: '1150m' } }
  t.equal(under([item], askingPod(GUARANTEED)).word, 'injected')
  t.equal(under([item], askingPod(GUARANTEED, both)).word, 'limit-range')
  t.equal(under([{ max: { cpu: '2' } }, { max: { cpu: '50m' } }]).word, 'limit-range')
})

t.test('defaults of a LimitRange for containers also apply to the observer', async (t) => {
  const given = (name: string) => under([{ default: { [name]: '1' } }])
  t.match(given('nvidia.com/gpu'), {
    word: 'limit-range',
    message: 'LimitRange "small": its default of 1 nvidia.com/gpu would also apply to perf-sysstat',
  })
  t.equal(given('hugepages-2Mi').word, 'limit-range')
  t.equal(given('ephemeral-storage').word, 'injected')
  t.equal(
    under([{ default: { 'nvidia.com/gpu': '0' } }]).word,
    'injected',
    'a default of 0 is no problem',
  )
  const bounds = { default: { 'ephemeral-storage': '1Gi' }, min: { 'ephemeral-storage': '1Gi' } }
  t.equal(under([bounds]).word, 'injected', 'the default satisfies the minimum')
  t.equal(under([{ type: 'Pod', min: { 'ephemeral-storage': '1Gi' } }]).word, 'limit-range')
})

t.test(
  'the defaults for an observer must fit into the pod-level resources of its pod',
  async (t) => {
    const own = { requests: { cpu: '1' }, limits: { cpu: '1' } }
    const pod = (request: string, annotations = {}) =>
      askingPod({ ...app({ requests: { cpu: request } }), resources: own }, annotations)
    t.equal(under([{ defaultRequest: { cpu: '500m' } }], pod('500m')).word, 'injected')
    t.match(under([{ defaultRequest: { cpu: '500m' } }], pod('600m')), {
      word: 'limit-range',
      message:
        /^with the requests that .* observers, the containers request more cpu than the pod$/,
    })
    const container = { 'ridealong.dev/mode': 'container' }
    const wide = { default: { cpu: '2' }, defaultRequest: { cpu: '0' } }
    t.equal(under([wide], pod('0')).word, 'injected', 'the limit of an init container is ignored')
    t.match(under([wide], pod('0', container)), {
      word: 'limit-range',
      message: 'a LimitRange gives perf-sysstat a limit for cpu above the limit of the pod',
    })
  },
)

t.test(
  'an observer is not added if the defaults of two LimitRanges contradict each other',
  async (t) => {
    const disk = (amount: string) => ({ 'ephemeral-storage': amount })
    const [request, limit] = [{ defaultRequest: disk('2Gi') }, { default: disk('1Gi') }]
    t.match(under([request, limit]), {
      word: 'limit-range',
      message: 'a LimitRange gives perf-sysstat a request for ephemeral-storage above its limit',
    })
    t.equal(under([limit, request]).word, 'injected', 'the first default is used')
  },
)

t.test(
  'a maximum per Pod applies to pod-level cpu, and to the huge pages of the containers',
  async (t) => {
    const pages = (amount: string) => ({ cpu: '1', 'hugepages-2Mi': amount })
    const own = { limits: pages('6Mi'), requests: pages('6Mi') }
    const pod = askingPod({
      ...app({ limits: pages('2Mi'), requests: pages('2Mi') }),
      resources: own,
    })
    t.equal(under([{ type: 'Pod', max: { 'hugepages-2Mi': '4Mi' } }], pod).word, 'injected')
    t.equal(under([{ type: 'Pod', max: { cpu: '500m' } }], pod).word, 'limit-range')
  },
)
