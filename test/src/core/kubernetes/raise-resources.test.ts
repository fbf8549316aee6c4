import t from 'tap'
import { askingPod, type Json, limitRange, ride, type Texts } from '../build.ts'

const app = (resources: Json) => ({ containers: [{ name: 'app', image: 'lammps', resources }] })
const FULL = { cpu: '1', memory: '1Gi' }
const BURSTABLE = app({ requests: FULL, limits: { cpu: '2', memory: '2Gi' } })
const GUARANTEED = app({ requests: FULL, limits: FULL })
const NO_LIMITS = app({ requests: FULL })

/** Returns the requests and limits of the added containers of a pod, under these LimitRanges. */
function resourcesUnder(items: readonly Json[], spec: Json, annotations: Texts = {}) {
  const rules = { limitRanges: items.map((item) => limitRange(item)) }
  const labels = { 'ridealong.dev/tools': 'true' }
  const { observers, message } = ride(askingPod(spec, annotations), { rules, labels })
  const found = Object.values(observers).map(({ name, resources }) => {
    const { requests = {}, limits = {} } = resources ?? {}
    return [name, `${requests.cpu} ${requests.memory}`, `${limits.cpu} ${limits.memory}`]
  })
  return found.length > 0 ? found : message
}

/** The item of a LimitRange, the pod, and the requests and limits of the observer. */
const RAISED: readonly [string, Json, Json, string, string][] = [
  ['a minimum', { min: { cpu: '50m', memory: '16Mi' } }, BURSTABLE, '50m 16Mi', '100m 32Mi'],
  ['a minimum above the limit', { min: { memory: '64Mi' } }, BURSTABLE, '0 64Mi', '100m 64Mi'],
  ['a ratio', { maxLimitRequestRatio: { cpu: '2' } }, BURSTABLE, '50m 0', '100m 32Mi'],
  ['an uneven ratio', { maxLimitRequestRatio: { cpu: '3' } }, BURSTABLE, '34m 0', '100m 32Mi'],
  [
    'a ratio of memory',
    { maxLimitRequestRatio: { memory: '3' } },
    BURSTABLE,
    '0 11184811',
    '100m 32Mi',
  ],
  [
    'a minimum and a ratio',
    { min: { cpu: '20m', memory: '48Mi' }, maxLimitRequestRatio: { cpu: '4', memory: '4' } },
    BURSTABLE,
    '25m 48Mi',
    '100m 48Mi',
  ],
  ['a fine minimum', { min: { cpu: '500u', memory: '1500m' } }, BURSTABLE, '1m 2', '100m 32Mi'],
  ['a minimum, Guaranteed', { min: { cpu: '150m' } }, GUARANTEED, '150m 32Mi', '150m 32Mi'],
  [
    'a ratio, Guaranteed',
    { maxLimitRequestRatio: { cpu: '1' } },
    GUARANTEED,
    '100m 32Mi',
    '100m 32Mi',
  ],
  [
    'a ratio of the pod that the pod uses up',
    { type: 'Pod', maxLimitRequestRatio: { cpu: '2' } },
    BURSTABLE,
    '50m 0',
    '100m 32Mi',
  ],
  [
    'a ratio of the pod with room',
    { type: 'Pod', maxLimitRequestRatio: { cpu: '3' } },
    BURSTABLE,
    '0 0',
    '100m 32Mi',
  ],
  [
    'a minimum of a pod without limits',
    { type: 'Pod', min: { cpu: '500m', memory: '64Mi' } },
    NO_LIMITS,
    '0 0',
    '500m 64Mi',
  ],
  [
    'a minimum of a pod with limits',
    { type: 'Pod', min: { cpu: '1' } },
    BURSTABLE,
    '0 0',
    '100m 32Mi',
  ],
]

t.test('requests and limits are raised as little as a LimitRange needs', async (t) => {
  for (const [name, item, spec, requests, limits] of RAISED) {
    t.strictSame(resourcesUnder([item], spec), [['perf-sysstat', requests, limits]], name)
  }
})

t.test('the rules of several LimitRanges and of several items apply together', async (t) => {
  const items = [
    { min: { cpu: '10m' } },
    { maxLimitRequestRatio: { cpu: '5' } },
    { type: 'Pod', maxLimitRequestRatio: { memory: '2' } },
  ]
  t.strictSame(resourcesUnder(items, BURSTABLE), [['perf-sysstat', '20m 16Mi', '100m 32Mi']])
})

t.test('the amounts of several observers and installers are raised together', async (t) => {
  const both = { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' }
  const ofPod = { type: 'Pod', maxLimitRequestRatio: { cpu: '1500m' } }
  const pod = app({ requests: { cpu: '1' }, limits: { cpu: '1500m' } })
  t.strictSame(resourcesUnder([ofPod], pod, both), [
    ['perf-sysstat', '100m 0', '100m 32Mi'],
    ['io-sysstat', '34m 0', '100m 32Mi'],
  ])
  const tool = { 'ridealong.dev/inject': 'cpu-profile' }
  t.strictSame(resourcesUnder([{ min: { cpu: '150m' } }], BURSTABLE, tool), [
    ['cpu-profile-install', '150m 0', '200m 24Mi'],
    ['cpu-profile', '150m 0', '150m 32Mi'],
  ])
  const alone = { type: 'Pod', maxLimitRequestRatio: { cpu: '1' } }
  t.strictSame(
    resourcesUnder([alone], app({}), tool),
    [
      ['cpu-profile-install', '200m 0', '200m 24Mi'],
      ['cpu-profile', '0 0', '100m 32Mi'],
    ],
    'only the limit of the installer suffices',
  )
})

t.test('a minimum above the maximum for a container prevents observers', async (t) => {
  const items = [{ min: { cpu: '200m' } }, { max: { cpu: '100m' } }]
  t.match(resourcesUnder(items, BURSTABLE), /maximum cpu per Container is 100m/)
})

t.test('in a pod with pod-level resources, an observer gets amounts only if needed', async (t) => {
  const own = { limits: { cpu: '2', memory: '2Gi' }, requests: { cpu: '1', memory: '1Gi' } }
  const spec = { ...app({ requests: FULL, limits: FULL }), resources: own }
  const wide = { ...app({ requests: { cpu: '500m', memory: '1Gi' } }), resources: own }
  t.strictSame(resourcesUnder([{ defaultRequest: { cpu: '100m' } }], wide), [
    ['perf-sysstat', 'undefined undefined', 'undefined undefined'],
  ])
  t.strictSame(resourcesUnder([{ maxLimitRequestRatio: { cpu: '2' } }], wide), [
    ['perf-sysstat', '50m 0', '100m 32Mi'],
  ])
  t.match(
    resourcesUnder([{ min: { cpu: '50m' } }], spec),
    /the containers request more cpu than the pod/,
  )
})

t.test('an observer with raised requests must fit into the quota', async (t) => {
  const quota = { hard: { 'requests.cpu': '1010m' }, used: { 'requests.cpu': '0' } }
  const rules = {
    limitRanges: [limitRange({ min: { cpu: '50m' } })],
    resourceQuotas: [{ metadata: { name: 'q' }, spec: { hard: quota.hard }, status: quota }],
  }
  const { word, message } = ride(askingPod(BURSTABLE), { rules })
  t.equal(word, 'quota')
  t.match(message, 'the pod needs 1050m of requests.cpu')
})
