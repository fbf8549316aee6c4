import jsonpatch from 'fast-json-patch'
import { scanBody } from '../../../src/core/body-scan.ts'
import {
  buildCatalog,
  type Catalog,
  type MetricDocument,
  type Privilege,
} from '../../../src/core/catalog.ts'
import { type NamespaceRules, readNamespace } from '../../../src/core/namespaces/namespace.ts'
import type { ReviewResponse } from '../../../src/core/response.ts'
import type { Review } from '../../../src/core/review.ts'
import { type PodReview, reviewPod } from '../../../src/core/review-pod.ts'

/** Texts by name, such as annotations or labels. */
export type Texts = Readonly<Record<string, string>>
export type Json = Readonly<Record<string, unknown>>

/** The fields of an added container that the tests read. */
export interface ContainerObject {
  readonly name: string
  readonly image: string
  readonly imagePullPolicy?: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly restartPolicy?: string
  readonly env?: readonly {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } }
  }[]
  readonly resources?: { readonly requests?: Texts; readonly limits?: Texts }
  readonly securityContext?: Json
  readonly volumeMounts?: readonly {
    readonly name: string
    readonly mountPath: string
    readonly subPath?: string
    readonly readOnly?: boolean
  }[]
}

/** The fields of a patched pod that the tests read. */
export interface PodObject {
  readonly metadata: { readonly annotations?: Texts }
  readonly spec: {
    readonly shareProcessNamespace?: boolean
    readonly initContainers?: readonly ContainerObject[]
    readonly containers: readonly ContainerObject[]
    readonly volumes?: readonly ({ readonly name: string } & Json)[]
  }
}

/** Returns the document of a metric. Parts that `spec` does not contain have default values. */
export function metricDocument(name: string, spec: Partial<MetricDocument['spec']> = {}) {
  return {
    metadata: { name },
    spec: {
      description: `what ${name} collects`,
      privilege: 'restricted',
      container: {
        image: 'registry.example/observer:1',
        command: [name],
        resources: { limits: { cpu: '100m', memory: '32Mi' } },
      },
      ...spec,
    },
  } satisfies MetricDocument
}

const rate = {
  type: 'integer',
  minimum: 1,
  maximum: 3600,
  default: 10,
  description: 'seconds between samples',
} as const

/**
 * The security context of an observer that can read any process. The Pod Security level baseline
 * forbids SYS_PTRACE.
 */
const TRACER = { runAsUser: 0, runAsGroup: 0, capabilities: { add: ['SYS_PTRACE'] } }

const tracing = (securityContext: Json) => ({
  image: 'registry.example/tracer:1',
  resources: { limits: { cpu: '50m', memory: '16Mi' } },
  securityContext,
})

export const CATALOG: Catalog = buildCatalog(
  [
    metricDocument('perf-sysstat', {
      options: {
        rate,
        'max-log': { ...rate, maximum: 1024, default: 8, description: 'MiB of log' },
        threads: { type: 'boolean', default: false, description: 'a row for each thread' },
        unit: { type: 'string', enum: ['KiB', 'MiB'], default: 'KiB', description: 'of memory' },
      },
    }),
    metricDocument('io-sysstat', { options: { rate } }),
    metricDocument('root-stat', {
      privilege: 'baseline',
      container: tracing({ runAsUser: 0, runAsGroup: 0 }),
    }),
    metricDocument('cpu-profile', {
      options: { frequency: { ...rate, maximum: 1000, default: 100, description: 'samples/s' } },
      tool: {
        installer: {
          image: 'registry.example/cpu-profile:1',
          command: ['install'],
          resources: { limits: { cpu: '200m', memory: '24Mi' } },
        },
        sizeLimit: '256Mi',
        mounts: [{ subPath: 'tool', mountPath: '/ridealong/cpu-profile' }],
        results: { subPath: 'results', mountPath: '/ridealong/profiles' },
        variables: [
          { name: 'LD_PRELOAD', value: '/ridealong/cpu-profile/loader.so', separator: ':' },
          { name: 'CPUPROFILE', value: '/ridealong/profiles/cpu' },
          { name: 'CPUPROFILE_FREQUENCY', option: 'frequency' },
        ],
      },
    }),
    metricDocument('trace-stat', { privilege: 'privileged', container: tracing(TRACER) }),
  ],
  '3f2a91c0',
  ['perf-sysstat'],
)

/** Returns the review of the creation of an object. */
export function reviewOf(object: unknown, more: Partial<Review> = {}): Review {
  return {
    source: scanBody(JSON.stringify(object ?? null)),
    uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
    operation: 'CREATE',
    subResource: '',
    namespace: 'hpc',
    name: 'lammps-0',
    dryRun: false,
    object,
    oldObject: null,
    ...more,
  }
}

/** Returns a pod with one container `app`, unless `spec` has other containers. */
export function podOf(annotations: Texts = {}, spec: Json = {}, metadata: Json = {}): Json {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'lammps-0', annotations, ...metadata },
    spec: { containers: [{ name: 'app', image: 'registry.example/app:1' }], ...spec },
  }
}

/** Returns a pod that requests perf-sysstat. */
export function askingPod(spec: Json = {}, annotations: Texts = {}): Json {
  return podOf({ 'ridealong.dev/inject': 'perf-sysstat', ...annotations }, spec)
}

/**
 * The conditions of a review: the namespace, the catalog, the settings of the webhook, and fields
 * of the review. By default, the namespace has no annotations, labels, LimitRanges or
 * ResourceQuotas.
 */
export interface Place {
  readonly catalog?: Catalog
  readonly annotations?: Texts
  readonly labels?: Texts
  readonly excluded?: readonly string[]
  readonly podSecurityDefault?: Privilege
  /** N of the apiserver's version 1.N; by default 36. */
  readonly apiserverVersion?: number | undefined
  /** The images that at least one node is known to have; undefined if images are not watched. */
  readonly heldImages?: readonly string[]
  /** The names of the revisions of all releases. */
  readonly revisions?: readonly string[]
  readonly rules?: Partial<NamespaceRules>
  readonly review?: Partial<Review>
}

/** Reviews the creation of a pod under these conditions. */
export function answerIn(place: Place, pod: unknown): PodReview {
  const { catalog = CATALOG, annotations = {}, labels = {}, excluded = [], review } = place
  const rules = { limitRanges: [], resourceQuotas: [], ...place.rules }
  return reviewPod(reviewOf(pod, review), {
    catalog,
    namespace: readNamespace('hpc', { metadata: { name: 'hpc', annotations, labels } }, rules),
    excludedNamespaces: new Set(excluded),
    podSecurityDefault: place.podSecurityDefault,
    apiserverVersion: 'apiserverVersion' in place ? place.apiserverVersion : 36,
    heldImages: place.heldImages && new Set(place.heldImages),
    revisions: place.revisions && new Set(place.revisions),
  })
}

/** Returns a copy of the object to which the patch in the response is applied. */
export function patchedBy<T>(object: unknown, { response }: ReviewResponse): T {
  const copy = JSON.parse(JSON.stringify(object))
  if (response.patch === undefined) return copy
  const operations = JSON.parse(Buffer.from(response.patch, 'base64').toString())
  return jsonpatch.applyPatch(copy, operations, true).newDocument
}

/** The outcome of a review, in the form that most tests use. */
export interface Ride {
  /** `injected`, `restored`, or the reason for which the pod was left or denied. */
  readonly word: string
  readonly outcome: string
  readonly message: string
  readonly allowed: boolean
  readonly warnings: readonly string[]
  readonly isPatched: boolean
  /** The patched pod. */
  readonly pod: PodObject
  /** The reasons of the requested metrics that an injected pod lacks, by metric. */
  readonly left: Texts
  /** The parsed annotation `ridealong.dev/status` of the patched pod. */
  readonly status: Json | undefined
  /** The added native sidecars and containers, by name. */
  readonly observers: Readonly<Record<string, ContainerObject>>
  readonly answer: PodReview
}

/** Returns a LimitRange with one item. */
export function limitRange(item: Json, name = 'small'): Json {
  const metadata = { name, namespace: 'hpc' }
  return {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata,
    spec: { limits: [{ type: 'Container', ...item }] },
  }
}

/** Returns a ResourceQuota. The used amount of each resource that `used` does not name is 0. */
export function resourceQuota(hard: Texts, used: Texts = {}, spec: Json = {}): Json {
  const metadata = { name: 'compute', namespace: 'hpc' }
  const none = Object.fromEntries(Object.keys(hard).map((name) => [name, '0']))
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata,
    spec: { hard, ...spec },
    status: { hard, used: { ...none, ...used } },
  }
}

/** Reviews the creation of a pod, and returns the outcome. */
export function ride(pod: unknown, place: Place = {}): Ride {
  const answer = answerIn(place, pod)
  const { decision, response } = answer
  const patched = patchedBy<PodObject>(pod, response)
  const status = patched.metadata?.annotations?.['ridealong.dev/status']
  return {
    word: 'reason' in decision ? decision.reason : decision.outcome,
    outcome: decision.outcome,
    message: 'message' in decision ? decision.message : '',
    allowed: response.response.allowed,
    left: Object.fromEntries(
      'left' in decision ? decision.left.map(({ metric, reason }) => [metric, reason]) : [],
    ),
    warnings: response.response.warnings ?? [],
    isPatched: response.response.patch !== undefined,
    pod: patched,
    status: status === undefined ? undefined : JSON.parse(status),
    observers: addedTo(pod as PodObject, patched),
    answer,
  }
}

/** Returns the containers of `after` whose names no container of `before` has, by name. */
function addedTo(before: PodObject, after: PodObject): Record<string, ContainerObject> {
  const all = ({ spec }: PodObject) => [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
  ]
  const names = new Set(all(before).map(({ name }) => name))
  return Object.fromEntries(
    all(after)
      .filter(({ name }) => !names.has(name))
      .map((container) => [container.name, container]),
  )
}

/** Returns the observer perf-sysstat that was added to a pod. */
export function perfOf({ observers, word }: Ride): ContainerObject {
  const observer = observers['perf-sysstat']
  if (observer === undefined) throw new Error(`perf-sysstat was not added to the pod: ${word}`)
  return observer
}

/** Returns the value of a container's environment variable; undefined if it has no value. */
export function variable({ env = [] }: ContainerObject, wanted: string): string | undefined {
  return env.find(({ name }) => name === wanted)?.value
}
