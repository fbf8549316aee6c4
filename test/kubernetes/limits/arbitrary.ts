/** Generates pods with resources of all kinds, and LimitRanges and ResourceQuotas. */
import fc from 'fast-check'

type Json = Readonly<Record<string, unknown>>

/** A pod, and the rules of the namespace in which it is created. */
export interface Encounter {
  readonly pod: Json
  readonly limitRanges: readonly Json[]
  readonly resourceQuotas: readonly Json[]
  /** The Pod Security level that the namespace enforces; undefined if it enforces none. */
  readonly enforce?: string | undefined
}

// There are few amounts, close to those of observers (100m, 32Mi) and installers (200m, 24Mi), so
// that sums and bounds are often equal.
const CPU = ['0', '50m', '100m', '200m', '300m', '1'] as const
const MEMORY = ['0', '16Mi', '24Mi', '32Mi', '64Mi', '96Mi', '1Gi'] as const
const STORAGE = ['0', '100Mi', '256Mi', '1Gi'] as const

/** Generates a value in one of `weight` cases, and undefined in the others. */
function rarely<T>(weight: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof(
    { weight: weight - 1, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary },
  )
}

/**
 * Generates a ResourceList. Each amount is present in one of `sparse` cases; storage is present
 * half as often.
 */
function list(sparse: number): fc.Arbitrary<Json> {
  return fc.record({
    cpu: rarely(sparse, fc.constantFrom(...CPU)),
    memory: rarely(sparse, fc.constantFrom(...MEMORY)),
    'ephemeral-storage': rarely(sparse * 2, fc.constantFrom(...STORAGE)),
  })
}

/** Requests and limits. No request exceeds its limit. */
const resources: fc.Arbitrary<Json> = fc.oneof(
  fc.constant({}),
  fc.record({ requests: list(2), limits: fc.constant({ cpu: '1', memory: '1Gi' }) }),
  fc.record({ limits: list(2) }),
  fc.record({ requests: list(2) }),
)

const guaranteed: fc.Arbitrary<Json> = fc
  .record({ cpu: fc.constantFrom('100m', '200m'), memory: fc.constantFrom('32Mi', '64Mi') })
  .map((limits) => ({ limits, requests: limits }))

const gpu: Json = { limits: { 'example.com/gpu': '1' } }

/** The resources of up to four containers of a pod, mostly of one kind. */
const allResources = fc.oneof(
  { weight: 3, arbitrary: fc.array(resources, { minLength: 4, maxLength: 4 }) },
  { weight: 2, arbitrary: fc.array(guaranteed, { minLength: 4, maxLength: 4 }) },
  { weight: 2, arbitrary: fc.constant([{}, {}, {}, {}]) },
  { weight: 1, arbitrary: fc.constant([gpu, {}, {}, {}]) },
)

const podLevel = fc.oneof(
  fc.record({ requests: fc.record({ cpu: fc.constantFrom('200m', '1') }) }),
  fc.constant({ limits: { cpu: '1', memory: '1Gi' } }),
  fc.record({
    requests: fc.constant({ cpu: '100m', memory: '64Mi' }),
    limits: fc.constant({ cpu: '100m', memory: '64Mi' }),
  }),
  fc.constant({}),
)

const term: Json = { topologyKey: 'kubernetes.io/hostname', labelSelector: {} }
const AFFINITIES = [
  { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, namespaces: ['lab'] }],
    },
  },
  {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, podAffinityTerm: { ...term, namespaceSelector: {} } },
      ],
    },
  },
]

/** The names of the containers. `init` is an init container, and `side` is a native sidecar. */
const NAMES: readonly (readonly string[])[] = [
  ['app'],
  ['app', 'two'],
  ['app', 'init'],
  ['app', 'side'],
  ['app', 'two', 'init', 'side'],
  ['app', 'side', 'init'],
]

/** The metrics that a pod requests. The tool of cpu-profile has an installer. */
const METRICS = [
  'perf-sysstat',
  'perf-sysstat,io-sysstat',
  'cpu-profile',
  'perf-sysstat,cpu-profile',
] as const

/** Metrics whose observers have security contexts that levels of Pod Security refuse. */
const OF_LEVELS = [...METRICS, 'root-stat,cpu-profile', 'trace-stat,cpu-profile'] as const

/** A security context of a container that Pod Security `restricted` admits. */
const restricted: Json = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
}

/** Security contexts of all containers of a pod. */
const CONTEXTS = [
  restricted,
  { ...restricted, runAsUser: 1000 },
  { ...restricted, runAsUser: 1000, runAsGroup: 1000 },
  { ...restricted, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } },
  { runAsUser: 0 },
  {},
]

/** Gives all containers of a pod the same security context. */
function secured(pod: Json, securityContext: Json): Json {
  const spec = pod.spec as Readonly<Record<string, readonly Json[]>>
  const [initContainers, containers] = [spec.initContainers, spec.containers].map((list) => {
    return list?.map((container) => ({ ...container, securityContext }))
  })
  return { ...pod, spec: { ...spec, initContainers, containers } }
}

const podsWith = (metrics: readonly string[]): fc.Arbitrary<Json> =>
  fc
    .record({
      annotations: fc.record({
        'ridealong.dev/inject': fc.constantFrom(...metrics),
        'ridealong.dev/mode': fc.constantFrom('native', 'native', 'container'),
      }),
      own: allResources,
      names: fc.constantFrom(...NAMES),
      more: fc.record({
        resources: rarely(5, podLevel),
        overhead: rarely(6, fc.constant({ cpu: '100m', memory: '32Mi' })),
        activeDeadlineSeconds: rarely(3, fc.constantFrom(1, 60)),
        priorityClassName: rarely(3, fc.constantFrom('high', 'low')),
        affinity: rarely(4, fc.constantFrom(...AFFINITIES)),
      }),
    })
    .map(({ annotations, own: resources, names, more }) => {
      const all = names.map((name, place) => {
        const restartPolicy = name === 'side' ? 'Always' : undefined
        return { name, image: 'lammps', restartPolicy, resources: resources[place] }
      })
      const isInit = ({ name }: Json) => name === 'init' || name === 'side'
      const initContainers = all.filter(isInit)
      const containers = all.filter((container) => !isInit(container))
      const metadata = { name: 'lammps-0', namespace: 'hpc', annotations }
      return {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata,
        spec: { initContainers, containers, ...more },
      }
    })

const pods = podsWith(METRICS)

const gifts = { 'example.com/gpu': '1' }

const RATIOS = ['1', '1500m', '2', '3', '7', '10', '64'] as const
const ratios = fc.record({
  cpu: rarely(2, fc.constantFrom(...RATIOS)),
  memory: rarely(2, fc.constantFrom(...RATIOS)),
})

const items: fc.Arbitrary<Json> = fc.oneof(
  fc.record({
    type: fc.constant('Container'),
    default: rarely(2, list(2)),
    defaultRequest: rarely(2, list(2)),
  }),
  fc.record({ type: fc.constant('Container'), min: list(3), default: rarely(2, list(2)) }),
  fc.record({ type: fc.constant('Container'), max: list(3) }),
  fc.record({
    type: fc.constantFrom('Container', 'Pod'),
    maxLimitRequestRatio: fc.record({ cpu: fc.constantFrom('1', '2', '1500m', '10') }),
  }),
  fc.record({
    type: fc.constantFrom('Container', 'Pod'),
    min: rarely(2, list(2)),
    max: rarely(3, list(3)),
    maxLimitRequestRatio: ratios,
  }),
  fc.record({ type: fc.constantFrom('Container', 'Pod'), min: list(2) }),
  fc.record({ type: fc.constant('Pod'), min: list(3), max: list(3) }),
  fc.record({ type: fc.constant('Pod'), max: list(2) }),
  fc.record({
    type: fc.constant('Pod'),
    maxLimitRequestRatio: fc.record({ memory: fc.constantFrom('1', '3', '1100m') }),
  }),
  fc.constant({ type: 'PersistentVolumeClaim', max: { storage: '1Gi' }, min: { cpu: '9' } }),
  fc.constantFrom(
    { type: 'Container', default: gifts },
    { type: 'Container', default: { 'ephemeral-storage': '1Gi' } },
  ),
)

const limitRanges = fc
  .array(fc.array(items, { minLength: 1, maxLength: 2 }), { maxLength: 2 })
  .map((all) =>
    all.map((limits, place) => ({ metadata: { name: `range-${place}` }, spec: { limits } })),
  )

const SCOPES = [
  'BestEffort',
  'NotBestEffort',
  'NotBestEffort',
  'Terminating',
  'NotTerminating',
  'PriorityClass',
  'CrossNamespacePodAffinity',
] as const

const selectors = fc
  .record({
    operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist'),
    values: fc.constantFrom(['high'], ['high', 'low']),
  })
  .map(({ operator, values }) => {
    const isList = operator.endsWith('In')
    return { scopeName: 'PriorityClass', operator, ...(isList ? { values } : {}) }
  })

const PODS_CPU = ['100m', '200m', '300m', '400m', '500m', '1', '1100m', '1200m', '3', '10'] as const
const PODS_MEMORY = ['24Mi', '32Mi', '64Mi', '96Mi', '128Mi', '1Gi', '1056Mi', '10Gi'] as const

const bounded = fc.record({
  cpu: rarely(6, fc.constantFrom(...PODS_CPU)),
  memory: rarely(6, fc.constantFrom(...PODS_MEMORY)),
  'requests.cpu': rarely(4, fc.constantFrom(...PODS_CPU)),
  'requests.memory': rarely(4, fc.constantFrom(...PODS_MEMORY)),
  'limits.cpu': rarely(4, fc.constantFrom(...PODS_CPU)),
  'limits.memory': rarely(4, fc.constantFrom(...PODS_MEMORY)),
  'requests.ephemeral-storage': rarely(
    6,
    fc.constantFrom('200Mi', '356Mi', '1280Mi', '2Gi', '5Gi'),
  ),
  'limits.ephemeral-storage': rarely(6, fc.constantFrom('200Mi', '356Mi', '1280Mi', '2Gi', '5Gi')),
  'requests.example.com/gpu': rarely(6, fc.constantFrom('1', '2')),
  'limits.example.com/gpu': rarely(9, fc.constantFrom('0')),
  pods: rarely(4, fc.constantFrom('0', '1', '10')),
  'count/pods': rarely(8, fc.constantFrom('1', '10')),
})

/** A quota. If a bound is 10, 9 of the 10 may already be used. */
const quotas: fc.Arbitrary<Json> = fc
  .record({
    hard: bounded,
    isUsed: fc.boolean(),
    scopes: rarely(
      2,
      fc.constantFrom(...SCOPES).map((scope) => [scope]),
    ),
    selector: rarely(4, selectors),
  })
  .map(({ hard, isUsed, scopes, selector }) => {
    const entries = Object.entries(hard).filter(([, amount]) => amount !== undefined)
    const used = Object.fromEntries(
      entries.map(([name, amount]) => [name, isUsed && amount === '10' ? '9' : '0']),
    )
    const scopeSelector = selector && { matchExpressions: [selector] }
    const enforced = Object.fromEntries(entries)
    return {
      metadata: { name: 'compute' },
      spec: { hard: enforced, scopes, scopeSelector },
      status: { hard: enforced, used },
    }
  })

/** Pods in a namespace that has only LimitRanges. */
export const limitedPods: fc.Arbitrary<Encounter> = fc.record({
  pod: pods,
  limitRanges: limitRanges.filter((all) => all.length > 0),
  resourceQuotas: fc.constant([]),
})

/**
 * Pods with the rules of their namespace. Most cases have only one kind of rule, because a pod that
 * Kubernetes refuses without observers tests nothing.
 */
export const encounters: fc.Arbitrary<Encounter> = fc.oneof(
  fc.record({ pod: pods, limitRanges, resourceQuotas: fc.constant([]) }),
  fc.record({
    pod: pods,
    limitRanges: fc.constant([]),
    resourceQuotas: fc.array(quotas, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ pod: pods, limitRanges, resourceQuotas: fc.array(quotas, { maxLength: 2 }) }),
  fc.record({
    pod: fc.tuple(podsWith(OF_LEVELS), fc.constantFrom(...CONTEXTS)).map(([pod, context]) => {
      return secured(pod, context)
    }),
    limitRanges: fc.constant([]),
    resourceQuotas: fc.constant([]),
    enforce: fc.constantFrom('restricted', 'restricted', 'baseline'),
  }),
)
