/**
 * Generates AdmissionReviews, and implements rules of Kubernetes for pods. The implementation is
 * independent of src/core, so that tests can compare the results.
 */

import fc from 'fast-check'
import { Dice } from './dice.ts'

export type Json = Readonly<Record<string, unknown>>

/** Returns the object; an empty object for any other value. */
export function mapOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

/** Returns the objects of a list; an empty list for any other value. */
export function mapsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(mapOf) : []
}

/** A review from the apiserver, and the Namespace of its pod. */
export interface Call {
  readonly body: Json
  readonly namespace: unknown
}

/** The kind of pods that `calls` generates most often, to test the rules for such pods. */
export type Leaning = 'anything' | 'restricted' | 'guaranteed' | 'tools'

/** The leanings of hostile reviews. */
const LEANINGS = ['anything', 'tools'] as const

// A pod is built from small numbers, which are cheap to generate. If fast-check shrinks all numbers
// to 0, the pod has one container and only requests perf-sysstat.
const THROWS = fc.array(fc.nat(0xffff), { minLength: 240, maxLength: 240, size: 'max' })

/** Generates reviews of pods. Kubernetes would accept most of these pods. */
export function calls(leaning: Leaning = 'anything'): fc.Arbitrary<Call> {
  return THROWS.map((throws) => callOf(new Dice(throws), leaning))
}

/** Generates reviews of invalid pods, with wrong types in some places, or of JSON of any shape. */
export const nonsense: fc.Arbitrary<Call> = THROWS.map((throws) => {
  const dice = new Dice(throws)
  const replaced = Array.from({ length: dice.pick(1, 1, 2, 3) }, () => dice.number(0x10000))
  const values = replaced.map(() => jsonOf(dice, 2))
  const rest = dice.number(8) === 7 ? jsonOf(dice, 4) : undefined
  const wrong = dice.seldom(4, ...WRONG_PLACES)
  const { body, namespace } = callOf(dice, dice.pick(...LEANINGS))
  const request = mapOf(body.request)
  let object = rest === undefined ? request.object : rest
  for (const [index, place] of replaced.entries()) object = replace(object, place, values[index])
  if (wrong !== undefined) object = put(object, wrong, values[0])
  const known = dice.seldom(4, jsonOf(dice, 3))
  return { body: { ...body, request: { ...request, object } }, namespace: known ?? namespace }
})

/** Generates bodies of any shape, some with the fields of an AdmissionReview. */
export const bodies: fc.Arbitrary<unknown> = THROWS.map((throws) => {
  const dice = new Dice(throws)
  const replaced = dice.number(0x10000)
  const value = jsonOf(dice, 2)
  const { body } = callOf(dice, 'anything')
  return dice.pick(true, false) ? replace(body, replaced % 12, value) : jsonOf(dice, 3)
})

/**
 * Fields that Ridealong reads. Each can get a value of a wrong type, even if the pod does not have
 * the field.
 */
const WRONG_PLACES = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.ownerReferences',
  'metadata.name',
  'spec.volumes',
  'spec.initContainers',
  'spec.containers',
  'spec.securityContext',
  'spec.resources',
  'spec.shareProcessNamespace',
  'spec.hostPID',
  'spec.os',
  'spec.nodeSelector',
  'spec.restartPolicy',
] as const

function put(object: unknown, path: string, value: unknown): unknown {
  const [key = '', ...rest] = path.split('.')
  const fields = mapOf(object)
  return { ...fields, [key]: rest.length === 0 ? value : put(fields[key], rest.join('.'), value) }
}

/** Replaces one value in an object. `place` is the number of the value, counted depth first. */
function replace(object: unknown, place: number, value: unknown): unknown {
  let left = place % sizeOf(object)
  return walk(object, (here) => {
    left -= 1
    return left === -1 ? value : here
  })
}

/** Applies a function to a value and to all values in it. Outer values come before inner values. */
function walk(value: unknown, make: (value: unknown) => unknown): unknown {
  const made = make(value)
  if (typeof made !== 'object' || made === null) return made
  if (Array.isArray(made)) return made.map((inner) => walk(inner, make))
  return Object.fromEntries(Object.entries(made).map(([key, inner]) => [key, walk(inner, make)]))
}

function sizeOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((total: number, inner) => total + sizeOf(inner), 1)
}

const ODD_KEYS = ['x', 'name', '', '/', '~1', '__proto__', 'constructor', 'toString', '-', '0']
const ODD_TEXTS = [
  'x',
  '',
  'false',
  'Always',
  'perf-sysstat',
  'a/b~c',
  '$(HOME) $$',
  '"\\\u0000\n',
  'é\u202e\u{1f4a5}',
  '__proto__',
]

/** Returns JSON of any shape, with at most `depth` levels of lists and objects. */
function jsonOf(dice: Dice, depth: number): unknown {
  const kind = dice.number(depth > 0 ? 7 : 4)
  if (kind === 0) return null
  if (kind === 1) return dice.pick(false, true)
  if (kind === 2) return dice.pick(0, 1, -1, 0.5, 1e21, 65535)
  if (kind === 3) return dice.pick(...ODD_TEXTS)
  const inner = Array.from({ length: dice.number(4) }, () => jsonOf(dice, depth - 1))
  if (kind === 4) return inner
  return Object.fromEntries(inner.map((value) => [dice.pick(...ODD_KEYS), value]))
}

/** Returns an object with a field that no version of Kubernetes has, or an empty object. */
function unknownField(dice: Dice): Json {
  if (dice.number(5) < 4) return {}
  return { [dice.pick('xUnknown', 'futureField', '__proto__', 'a/b~c')]: jsonOf(dice, 2) }
}

function callOf(dice: Dice, leaning: Leaning): Call {
  const request = {
    uid: dice.pick('2d7f7ca7-afbb-411e-8266-38bd72ab25e8', 'é/~', 'UID', '0'),
    operation: dice.seldom(40, 'UPDATE', 'DELETE', 'CONNECT') ?? 'CREATE',
    subResource: dice.seldom(60, 'status', 'ephemeralcontainers'),
    namespace: dice.seldom(60, 'kube-system') ?? 'hpc',
    dryRun: dice.pick(false, true),
  }
  const place = namespaceOf(dice, leaning)
  const namespace = leaning === 'tools' ? place : dice.pick(undefined, {}, place)
  const object = podOf(dice, leaning)
  const body = {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { ...request, object },
  }
  // JSON has no undefined fields.
  return { body: JSON.parse(JSON.stringify(body)), namespace }
}

function namespaceOf(dice: Dice, leaning: Leaning): Json {
  const level = () => dice.seldom(3, 'restricted', 'privileged', 'baseline', 'nonsense', 7)
  return {
    metadata: {
      name: 'hpc',
      annotations: dice.pick(undefined, null, {}, wishesOf(dice, leaning), wishesOf(dice, leaning)),
      labels: {
        'pod-security.kubernetes.io/enforce': level(),
        'ridealong.dev/privilege': dice.pick(undefined, 'privileged', level()),
        'ridealong.dev/tools': dice.seldom(4, undefined, 'True', 'false', 7) ?? 'true',
      },
    },
  }
}

function podOf(dice: Dice, leaning: Leaning): Json {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: dice.pick('lammps-0', undefined),
      generateName: dice.pick(undefined, 'lammps-0-'),
      annotations: annotationsOf(dice, leaning),
      labels: labelsOf(dice),
      ownerReferences: dice.seldom(3, ...OWNERS),
      ...unknownField(dice),
    },
    spec: specOf(dice, leaning),
    ...unknownField(dice),
  }
}

const OWNERS = [
  [{ kind: 'Job', name: 'lammps', controller: true }],
  [{ kind: 'X', name: 'y' }, 7, { kind: 'MiniCluster', name: 'é\u0000', controller: true }],
  [],
  null,
]

/** The labels of launchers of MPI, and of a launcher that does not start its ranks over ssh. */
export const LAUNCHERS = [
  { 'jobset.sigs.k8s.io/replicatedjob-name': 'launcher' },
  {
    'training.kubeflow.org/operator-name': 'mpi-operator',
    'training.kubeflow.org/job-role': 'launcher',
  },
  {
    'training.kubeflow.org/operator-name': 'mpijob-controller',
    'training.kubeflow.org/job-role': 'launcher',
  },
]

function labelsOf(dice: Dice): unknown {
  const launcher = dice.seldom(4, ...LAUNCHERS)
  if (launcher !== undefined) return launcher
  const owner = dice.seldom(
    12,
    { 'workflows.argoproj.io/workflow': 'w' },
    { 'volcano.sh/job-name': 'j' },
    { app: 'netperf-operator' },
    { app: 'other', 'ridealong.dev/armed': 'true' },
  )
  return owner ?? dice.pick({ app: 'lammps' }, undefined, null, {})
}

const ASKS = [
  'perf-sysstat',
  'io-sysstat',
  'perf-sysstat,io-sysstat',
  ' io-sysstat , ,perf-sysstat,io-sysstat',
  'perf-sysstat',
  'raw-perf',
  'perf-sysstat,host-perf',
  'cpu-tool',
  'true',
  'enabled, io-sysstat',
]
/** Lists of metrics, most of which have a tool. */
const TOOL_ASKS = [
  'cpu-tool',
  'perf-sysstat,cpu-tool',
  'mpi-tool,cpu-tool',
  'cpu-tool,io-sysstat,mpi-tool',
  'cpu-tool,io-tool',
  'io-tool,mpi-tool,perf-sysstat,cpu-tool',
  'mpi-tool',
  'lib-tool',
  'map-tool,io-sysstat,lib-tool',
  'lib-tool,cpu-tool,map-tool',
  'perf-sysstat',
]
const ODD_ASKS = [
  'perf-sysstaat',
  'false',
  '',
  'True',
  ' false ',
  'disabled',
  'true,false',
  'p\u00e9rf-sysstat',
  'perf-sysstat\u0000',
  '\u{1f4a5}\u202e',
  '__proto__',
  'constructor',
  'perf-sysstat, ,'.repeat(50),
  'x'.repeat(700),
  7,
]

/** Text that becomes longer when it is quoted. */
const QUOTES = '"\\'.repeat(32)

/** Annotations that people write on pods and namespaces. */
function wishesOf(dice: Dice, leaning: Leaning): Json {
  const asks = leaning === 'tools' ? TOOL_ASKS : ASKS
  return {
    'ridealong.dev/inject': dice.seldom(8, undefined, ...ODD_ASKS) ?? dice.pick(...asks),
    'ridealong.dev/target-container': dice.seldom(
      6,
      'main',
      'c1',
      ' side ',
      'init',
      'nope',
      '',
      `${QUOTES}!`,
      `${QUOTES}!`,
    ),
    'ridealong.dev/target-command': dice.seldom(4, 'lmp', '^py.*$', '$(X) `;\'"', 'é\u{1f4a5}', ''),
    'ridealong.dev/mode': dice.seldom(3, 'container', 'container', ' native', 'Container'),
    'ridealong.dev/on-error': dice.seldom(3, 'deny', ' deny ', 'deny', 'admit', 'refuse'),
    'perf-sysstat.ridealong.dev/rate': dice.seldom(5, '5', ' 007 ', '3600', '0', 'often; rm', 5),
    'io-sysstat.ridealong.dev/completions': dice.seldom(8, '0', '12', '-1', '1e3', '٣'),
    'cpu-tool.ridealong.dev/frequency': dice.seldom(8, '1', ' 0250 ', '0', '$(HOME)'),
    'cpu-tool.ridealong.dev/pods': dice.seldom(12, 'launcher', '0-3'),
    'raw-perf.ridealong.dev/event': dice.seldom(8, 'cycles', 'all', '$(HOME)'),
    'perf-sysstat.ridealong.dev/raet': dice.seldom(40, '1'),
    'nobody.ridealong.dev/rate': dice.seldom(20, 'x'),
    'ridealong.dev/injct': dice.seldom(60, 'perf-sysstat'),
  }
}

export const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container'

function annotationsOf(dice: Dice, leaning: Leaning): unknown {
  const none = dice.seldom(9, undefined, null, {}, { 'a/b~c': 'é' })
  if (none !== undefined) return none
  if (dice.number(20) === 19) return undefined
  return {
    ...wishesOf(dice, leaning),
    'ridealong.dev/status': dice.seldom(3, ...STATUSES),
    [DEFAULT_CONTAINER]: dice.seldom(6, 'main', 'c1', 'nope', '', 3),
    'kubernetes.io/config.mirror': dice.seldom(60, 'x', ''),
    'batch.kubernetes.io/job-completion-index': dice.seldom(6, '0', 'é'),
    [dice.pick('a/b~c', '__proto__', '', '~0~1', 'toString')]: dice.seldom(3, 'x', 'é\u{1f4a5}', 7),
    padding: dice.number(200) === 199 ? 'é'.repeat(131_000) : undefined,
  }
}

/** Status annotations that a forger, or a person who copies an injected pod, might write. */
const STATUSES = [
  statusOf(['perf-sysstat']),
  statusOf(['perf-sysstat', 'io-sysstat']),
  statusOf(['perf-sysstat'], 'true'),
  statusOf(['main']),
  statusOf(['cpu-tool', 'mpi-tool']),
  statusOf(['io-tool', 'cpu-tool']),
  statusOf(['lib-tool', 'map-tool']),
  statusOf(['init', 'side']),
  statusOf([7, null, '__proto__']),
  statusOf([], 'é'.repeat(200)),
  statusOf([], 'x'.repeat(400)),
  statusOf([], { deep: [1] }),
  statusOf('perf-sysstat'),
  '{"outcome":"left","reason":"host-pid","message":"é"}',
  '{"outcome":"injected"}',
  '{"outcome":',
  'null',
  '',
  7,
]

function statusOf(metrics: unknown, shareProcessNamespace: unknown = 'absent'): string {
  return JSON.stringify({ outcome: 'injected', metrics, mode: 'native', shareProcessNamespace })
}

/** A name of almost the maximum length, with many characters to quote. */
const LONG_NAME = QUOTES.slice(0, 62)

/** Names of observers and of another container, and long names. */
const ODD_NAMES = ['perf-sysstat', 'io-sysstat', 'side', 'cpu-tool-install', LONG_NAME, LONG_NAME]

function specOf(dice: Dice, leaning: Leaning): Json {
  const count = dice.pick(1, 1, 2, 3, 4, 5)
  return {
    hostPID: dice.seldom(6, false, false, true),
    hostUsers: dice.seldom(5, false, true, null),
    hostNetwork: dice.seldom(8, true),
    os: dice.seldom(10, { name: 'linux' }, { name: 'windows' }, {}),
    nodeSelector: dice.seldom(10, {}, { 'kubernetes.io/os': 'windows' }, { disk: 'ssd' }),
    shareProcessNamespace: dice.pick(undefined, false, true, null),
    automountServiceAccountToken: dice.pick(undefined, false, true, null),
    restartPolicy: dice.pick(undefined, 'Always', 'Never', 'OnFailure'),
    resources: dice.seldom(leaning === 'guaranteed' ? 20 : 6, ...POD_RESOURCES),
    securityContext: contextOf(dice, leaning, POD_CONTEXTS),
    volumes: dice.pick(undefined, null, [], [{ name: 'v', emptyDir: {} }]),
    ...unknownField(dice),
    initContainers: initContainersOf(dice, leaning),
    containers: Array.from({ length: count }, (_, place) => {
      const odd = place > 0 ? dice.seldom(10, ...ODD_NAMES) : undefined
      return containerOf(dice, leaning, odd ?? (place === 0 ? 'main' : `c${place}`))
    }),
  }
}

function initContainersOf(dice: Dice, leaning: Leaning): unknown {
  const present = dice.number(8)
  if (present < 4) return dice.pick(undefined, null, [])
  const ordinary = containerOf(dice, leaning, 'init')
  const sidecar = { ...containerOf(dice, leaning, 'side'), restartPolicy: 'Always' }
  if (present === 4) return [ordinary]
  if (present === 5) return [sidecar]
  if (present === 6) return [ordinary, sidecar]
  const restartPolicy = dice.pick('Always', undefined, 'Never')
  const name = dice.pick('perf-sysstat', 'io-sysstat', 'cpu-tool')
  return [ordinary, { ...containerOf(dice, leaning, name), restartPolicy }]
}

const OBSERVER_IMAGE = 'ghcr.io/ridealong/observer:0.1.0'

/**
 * Fields of a container with the name of a built-in metric: mostly the fields of the observer,
 * sometimes with the image of another registry, sometimes no fields.
 */
const OBSERVERS: ReadonlyMap<string, readonly Json[]> = new Map(
  ['perf-sysstat', 'io-sysstat'].map((name) => {
    const observer = { image: OBSERVER_IMAGE, command: [name] }
    const mirrored = { image: `mirror.example/${OBSERVER_IMAGE}`, command: [name] }
    return [name, [observer, observer, observer, mirrored, {}]]
  }),
)

function containerOf(dice: Dice, leaning: Leaning, name: string): Json {
  return {
    name,
    image: 'lammps',
    ...dice.pick(...(OBSERVERS.get(name) ?? [{}])),
    resources: resourcesOf(dice, leaning),
    securityContext: contextOf(dice, leaning, CONTEXTS),
    env: dice.seldom(3, null, [], ENV, [...ENV, ...OWN_PRELOAD], OWN_PRELOAD, OWN_PRELOAD, TAKEN),
    envFrom: dice.seldom(12, null, [], [{ prefix: 'APP_' }], [{ configMapRef: { name: 'c' } }]),
    volumeMounts: dice.seldom(4, MOUNT, MOUNT, null, [], DEEP_MOUNTS, TAKEN_MOUNT),
    ...unknownField(dice),
  }
}

const ENV = [
  { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  { name: 'OMP_NUM_THREADS', value: '4' },
]
/** Variables to which tools append. */
const OWN_PRELOAD = [
  { name: 'LD_PRELOAD', value: '/lib/own.so' },
  { name: 'TRACE_FILTER', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } },
]
/** Variables that tools must not replace. */
const TAKEN = [
  { name: 'CPUPROFILE' },
  { name: 'OMPI_MCA_orte_launch_agent', value: 'orted' },
  { name: 'TRACE_FILTER', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: true } } },
]
const MOUNT = [{ name: 'v', mountPath: '/v' }]
const DEEP_MOUNTS = [
  { name: 'v', mountPath: '/opt/../v', subPath: 'a', readOnly: true },
  { name: 'v', mountPath: '/opt/ridealong/other', subPathExpr: '$(POD)' },
]
const TAKEN_MOUNT = [{ name: 'v', mountPath: '/opt//ridealong/../ridealong' }]

/** Different values for the same quantity. */
const SAME_CPU = ['1', '1000m', 1, '1.0', '1e0'] as const
const SAME_MEMORY = ['1Gi', '1024Mi', '1073741824', 1073741824, '1.073741824G'] as const

function guaranteedOf(dice: Dice): Json {
  return {
    limits: { cpu: dice.pick(...SAME_CPU), memory: dice.pick(...SAME_MEMORY) },
    requests: { cpu: dice.pick(...SAME_CPU), memory: dice.pick(...SAME_MEMORY) },
  }
}

const RESOURCES = [
  undefined,
  {},
  null,
  { requests: { cpu: '100m' } },
  { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } },
  { limits: { cpu: '0', memory: '0' }, requests: null },
  { limits: { cpu: '1' }, requests: { cpu: '1' } },
  { limits: { cpu: '1', memory: '1Gi', 'ephemeral-storage': '1Gi' } },
  { limits: { 'nvidia.com/gpu': 1 }, requests: { 'nvidia.com/gpu': 1 } },
  { requests: { cpu: 'much', memory: '1.5.2Gi' }, limits: { cpu: '١', memory: 'Infinity' } },
  { requests: { cpu: -1, memory: '1e999999' }, limits: { cpu: [], memory: '9'.repeat(50) } },
]

const POD_RESOURCES = [
  {},
  { limits: { cpu: '4', memory: '4Gi' } },
  { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
  { requests: { cpu: '1' } },
  { claims: [] },
  null,
]

function resourcesOf(dice: Dice, leaning: Leaning): unknown {
  const often = leaning === 'guaranteed' || leaning === 'tools' ? 40 : 2
  if (dice.number(often) < often - 1) {
    return leaning === 'anything' ? guaranteedOrNone(dice) : guaranteedOf(dice)
  }
  const odd = { ...mapOf(dice.pick(...RESOURCES)), ...unknownField(dice) }
  return dice.pick(odd, ...RESOURCES)
}

function guaranteedOrNone(dice: Dice): Json {
  return dice.pick({}, guaranteedOf(dice))
}

const RESTRICTED = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
}
/**
 * Security contexts of containers that Pod Security `restricted` allows. Some are allowed only
 * together with a security context of the pod.
 */
const RESTRICTED_CONTEXTS = [
  RESTRICTED,
  { ...RESTRICTED, runAsUser: 1000 },
  { ...RESTRICTED, runAsUser: 1000, runAsGroup: 1000 },
  { ...RESTRICTED, runAsGroup: 0, seccompProfile: { type: 'Localhost', localhostProfile: 'p' } },
  { ...RESTRICTED, runAsNonRoot: undefined },
  { ...RESTRICTED, runAsNonRoot: undefined, seccompProfile: undefined, runAsUser: 2000 },
  { ...RESTRICTED, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } },
  { ...RESTRICTED, capabilities: { drop: ['NET_RAW', 'ALL'] }, readOnlyRootFilesystem: false },
]
const RESTRICTED_POD_CONTEXTS = [
  { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'Localhost' } },
  { fsGroup: 0, runAsGroup: 3000, runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
]
const POD_CONTEXTS = [
  {},
  undefined,
  null,
  { runAsNonRoot: true },
  { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
  { runAsUser: 0 },
  { runAsNonRoot: false, seccompProfile: { type: 'Unconfined' } },
]
const CONTEXTS = [
  {},
  undefined,
  null,
  { runAsUser: 1000 },
  { runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true },
  { runAsUser: 0, runAsGroup: 0 },
  { runAsUser: 0, runAsNonRoot: true },
  { runAsNonRoot: false },
  { privileged: true },
  { capabilities: { add: ['SYS_PTRACE', 'CHOWN'], drop: null } },
  { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE', 'KILL'] } },
  { runAsUser: -1, runAsGroup: 1.5, seccompProfile: { type: 'Unconfined' } },
  RESTRICTED,
]

function contextOf(dice: Dice, leaning: Leaning, others: readonly unknown[]): unknown {
  const good = others === POD_CONTEXTS ? RESTRICTED_POD_CONTEXTS : RESTRICTED_CONTEXTS
  const isOther = dice.number(40) === 39
  const context = dice.pick(...(leaning === 'restricted' && !isOther ? good : others))
  const unknown = unknownField(dice)
  return Object.keys(unknown).length > 0 ? { ...mapOf(context), ...unknown } : context
}

/**
 * Returns the rules of Pod Security `restricted` that a pod violates
 * (https://kubernetes.io/docs/concepts/security/pod-security-standards/).
 */
export function restrictedProblems(pod: Json): string[] {
  const spec = mapOf(pod.spec)
  const sharesHost = [spec.hostNetwork, spec.hostPID, spec.hostIPC].includes(true)
  const volumes = mapsOf(spec.volumes).filter((volume) => {
    return Object.keys(volume).some((key) => key !== 'name' && !VOLUMES.includes(key))
  })
  return [
    ...(sharesHost ? ['host namespaces'] : []),
    ...volumes.map(({ name }) => `volume ${String(name)}`),
    ...containersOf(pod).flatMap((container) => containerProblems(container, spec)),
  ]
}

const VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

/**
 * Returns the rules of Pod Security `restricted` that a container of a pod with this spec violates.
 */
export function containerProblems(container: Json, spec: Json): string[] {
  const context: Json = { ...heritable(spec.securityContext), ...said(container.securityContext) }
  const { add, drop } = mapOf(context.capabilities)
  const ownsUsers = spec.hostUsers === false
  const rules: Json = {
    privileged: context.privileged !== true,
    'privilege escalation': context.allowPrivilegeEscalation === false,
    'capabilities kept': Array.isArray(drop) && drop.includes('ALL'),
    'capabilities added': [add ?? []].flat().every((name) => name === 'NET_BIND_SERVICE'),
    'may be root': ownsUsers || context.runAsNonRoot === true,
    'is root': ownsUsers || context.runAsUser !== 0,
    seccomp: ['RuntimeDefault', 'Localhost'].includes(`${mapOf(context.seccompProfile).type}`),
    apparmor: mapOf(context.appArmorProfile).type !== 'Unconfined',
    'proc mount': ['Default', 'undefined'].includes(`${context.procMount}`),
    'host ports': mapsOf(container.ports).every(({ hostPort }) => !hostPort),
  }
  const broken = Object.keys(rules).filter((rule) => rules[rule] === false)
  return broken.map((rule) => `${String(container.name)}: ${rule}`)
}

/** Returns the fields of a pod's security context that its containers inherit. */
function heritable(context: unknown): Json {
  const { runAsNonRoot, runAsUser, seccompProfile, appArmorProfile } = mapOf(context)
  return { runAsNonRoot, runAsUser, seccompProfile, appArmorProfile }
}

function said(context: unknown): Json {
  const fields = Object.entries(mapOf(context))
  return Object.fromEntries(fields.filter(([, value]) => value !== null))
}

function containersOf(pod: Json): readonly Json[] {
  const { initContainers, containers } = mapOf(pod.spec)
  return [...mapsOf(initContainers), ...mapsOf(containers)]
}

/**
 * Reports whether a pod has the QoS class Guaranteed, like ComputePodQOS of kubernetes v1.36
 * (pkg/apis/core/v1/helper/qos/qos.go). A pod with an invalid quantity is not Guaranteed.
 */
export function isGuaranteed(pod: Json): boolean {
  const own = mapOf(mapOf(pod.spec).resources)
  const isOwn = mapOf(pod.spec).resources === own
  const all = isOwn ? [own] : containersOf(pod).map(({ resources }) => mapOf(resources))
  return ['cpu', 'memory'].every((name) => {
    const limits = all.map((resources) => amountOf(mapOf(resources.limits)[name]))
    const requests = all.map((resources) => amountOf(mapOf(resources.requests)[name]))
    return limits.every((limit) => limit > 0) && sum(limits) === sum(requests)
  })
}

const UNITS: Json = {
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
}

/** Returns a quantity in thousandths: zero for a missing quantity, NaN for an invalid quantity. */
function amountOf(value: unknown): number {
  if (value === undefined) return 0
  const [, digits, unit = ''] =
    /^(\d{1,12}(?:\.\d+)?(?:e\d)?)([mkMG]|[KMG]i)?$/.exec(`${value}`) ?? []
  return digits === undefined ? Number.NaN : Math.round(Number(digits) * 1000 * Number(UNITS[unit]))
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0)
}

/**
 * Removes exactly those fields from a patched pod that Ridealong may have added. The result should
 * be the original pod.
 *
 * @param restored the names of observers whose `restartPolicy` Ridealong may have restored
 */
export function withoutObservers(patched: Json, pod: Json, restored: readonly string[]): Json {
  const [before, after] = [mapOf(pod.spec), mapOf(patched.spec)]
  const inits = mapsOf(before.initContainers)
  const metadata = { ...mapOf(patched.metadata) }
  const { annotations } = mapOf(pod.metadata)
  metadata.annotations = unannotated(mapOf(metadata.annotations), annotations)
  const kept = (key: string) => back(after[key], before[key])
  const first = installersAdded(pod, patched).length
  const all = Array.isArray(after.initContainers) ? after.initContainers.slice(first) : undefined
  const initContainers = Array.isArray(before.initContainers)
    ? mapsOf(back(all, inits)).map((container, place) => {
        const isRestored = restored.includes(String(container.name))
        const same = isRestored ? withField(container, 'restartPolicy', inits[place]) : container
        return withoutTool(same, inits[place])
      })
    : before.initContainers
  const own = mapsOf(before.containers)
  const containers = Array.isArray(before.containers)
    ? mapsOf(kept('containers')).map((container, place) => withoutTool(container, own[place]))
    : kept('containers')
  const rest = { containers, volumes: kept('volumes'), initContainers }
  const spec = withField({ ...after, ...rest }, 'shareProcessNamespace', before)
  return withoutNew(
    { ...patched, metadata: withoutNew(metadata, pod.metadata), spec: withoutNew(spec, before) },
    pod,
  )
}

/** Returns the init containers that a patch inserted at the beginning, to install tools. */
export function installersAdded(pod: Json, patched: Json): readonly Json[] {
  const [before, after] = [pod, patched].map(({ spec }) => mapsOf(mapOf(spec).initContainers))
  const count = (list: readonly Json[] = []) => {
    const index = list.findIndex((container) => !isInstaller(container))
    return index < 0 ? list.length : index
  }
  return (after ?? []).slice(0, count(after) - count(before))
}

function isInstaller({ volumeMounts }: Json): boolean {
  const isWhole = ({ mountPath }: Json) => mountPath === '/ridealong/volume'
  return toolMounts(volumeMounts).some(isWhole)
}

/** Returns the mounts of volumes of tools. */
export function toolMounts(mounts: unknown): readonly Json[] {
  return mapsOf(mounts).filter(({ name }) => {
    return typeof name === 'string' && /^ridealong-(tool|lib)-/.test(name)
  })
}

/**
 * Returns a container without the appended entries of `env` and `volumeMounts`, if a volume of a
 * tool was mounted into the container.
 */
function withoutTool(container: Json, before: Json = {}): Json {
  const count = ({ volumeMounts }: Json) => toolMounts(volumeMounts).length
  if (count(container) === count(before)) return container
  const lists = Object.fromEntries(
    ['env', 'volumeMounts'].map((key) => [key, back(container[key], before[key])]),
  )
  return withoutNew({ ...container, ...lists }, before)
}

function unannotated(after: Json, before: unknown): unknown {
  const kept = mapOf(before)
  const rest = withField(after, 'ridealong.dev/status', kept)
  // Ridealong sets the default container of kubectl only if the pod does not set it.
  const isSaid = Object.hasOwn(kept, DEFAULT_CONTAINER)
  const own = isSaid ? rest : withField(rest, DEFAULT_CONTAINER, kept)
  const isNew = before === undefined || before === null
  return isNew && Object.keys(own).length === 0 ? before : own
}

/** Returns the list without the appended items; `before` if it is undefined or null. */
function back(after: unknown, before: unknown): unknown {
  if (before === undefined || before === null) return before
  return Array.isArray(after) && Array.isArray(before) ? after.slice(0, before.length) : after
}

/** Returns the object with one field of another object; without the field if `other` lacks it. */
function withField(object: Json, key: string, other: Json | undefined): Json {
  const { [key]: _, ...rest } = object
  return Object.hasOwn(other ?? {}, key) ? { ...rest, [key]: other?.[key] } : rest
}

/** Returns the object without undefined fields that the other object does not have. */
function withoutNew(object: Json, other: unknown): Json {
  return Object.fromEntries(
    Object.entries(object).filter(([key, value]) => {
      return value !== undefined || Object.hasOwn(mapOf(other), key)
    }),
  )
}

/**
 * The paths of lists and maps in a pod that can have thousands of entries. The function beside a
 * path returns the entry with the given number.
 */
const CROWDS: readonly (readonly [path: string, entry: (index: number) => Json])[] = [
  ['spec.containers', (i) => ({ name: `c${i}`, resources: { limits: { [`a/${i}`]: '1' } } })],
  ['spec.containers', (i) => ({ name: 'main', resources: { requests: { cpu: `${i}m` } } })],
  ['spec.initContainers', (i) => ({ name: `c${i}`, resources: { requests: { cpu: `${i}m` } } })],
  ['spec.initContainers', (i) => ({ name: `c${i}`, restartPolicy: 'Always' })],
  ['spec.initContainers', () => ({ name: 'perf-sysstat' })],
  [
    'spec.containers.0.securityContext.capabilities.drop',
    (i) => ({ '': `C${'D'.repeat(i % 40)}` }),
  ],
  ['spec.containers.0.resources.limits', (i) => ({ [`a/${i}`]: '1' })],
  ['spec.containers.0.resources.requests', (i) => ({ [`hugepages-${i}`]: `${i}Mi` })],
  ['spec.resources.limits', (i) => ({ [`hugepages-${i}`]: '1Mi' })],
  ['spec.overhead', (i) => ({ [`a/${i}`]: '1' })],
  ['spec.volumes', (i) => ({ name: `v${i}` })],
  ['spec.containers.0.env', (i) => ({ name: `V${i}`, value: '1' })],
  ['spec.containers.0.envFrom', (i) => ({ prefix: `P${i}_` })],
  ['spec.containers.0.volumeMounts', (i) => ({ name: 'v', mountPath: `/m/${i}` })],
  ['spec.nodeSelector', (i) => ({ [`k${i}`]: '' })],
  ['metadata.annotations', (i) => ({ [`perf-sysstat.ridealong.dev/o${i}`]: '1' })],
  ['metadata.annotations', (i) => ({ [`m${i}.ridealong.dev/rate`]: '1' })],
  ['metadata.annotations', (i) => ({ [`example.com/a${i}`]: 'é' })],
  ['metadata.labels', (i) => ({ [`l${i}`]: '' })],
  ['metadata.ownerReferences', (i) => ({ kind: 'Job', name: `j${i}`, controller: i % 7 === 6 })],
]

/** Texts in a pod that can have any length. */
const LONG_TEXTS = [
  'metadata.name',
  'metadata.annotations.ridealong\\.dev/inject',
  'metadata.annotations.ridealong\\.dev/target-command',
  'metadata.annotations.ridealong\\.dev/status',
  'metadata.labels.app',
  'spec.restartPolicy',
  'spec.containers.0.name',
  'spec.containers.0.image',
  'spec.containers.0.resources.limits.cpu',
  'spec.containers.0.env.0.name',
  'spec.containers.0.volumeMounts.0.mountPath',
] as const

/**
 * Generates reviews of pods with 100 to 10,000 entries in a list or map. Some also have a very long
 * text.
 */
export const crowds: fc.Arbitrary<Call> = THROWS.map((throws) => {
  const dice = new Dice(throws)
  const count = dice.pick(100, 1000, 3000, 10_000)
  const [path, entry] = dice.pick(...CROWDS)
  const place = dice.seldom(6, ...LONG_TEXTS)
  const text = dice.pick('x', 'é', '"', '$', 'x,', '9', '[', '/..', '.ridealong.dev/').repeat(count)
  const { body, namespace } = callOf(dice, dice.pick(...LEANINGS))
  const request = mapOf(body.request)
  const entries = Array.from({ length: count }, (_, i) => entry(i))
  const crowded = change(request.object, keysOf(path), (value) => swell(path, value, entries))
  const object = place === undefined ? crowded : change(crowded, keysOf(place), () => text)
  return { body: { ...body, request: { ...request, object } }, namespace }
})

/** Generates a mixture of ordinary, invalid and very large reviews. */
export const attacks: fc.Arbitrary<Call> = fc.oneof(
  { weight: 100, arbitrary: calls() },
  { weight: 20, arbitrary: calls('tools') },
  { weight: 79, arbitrary: nonsense },
  { weight: 1, arbitrary: crowds },
)

/** Returns the keys of a path. In a path, `\.` is a dot within a key. */
function keysOf(path: string): readonly string[] {
  return path.split(/(?<!\\)\./).map((key) => key.replaceAll('\\.', '.'))
}

function swell(path: string, value: unknown, entries: readonly Json[]): unknown {
  if (path.endsWith('.drop')) return entries.flatMap((entry) => Object.values(entry))
  const isList = /containers$|initContainers$|volumes$|ownerReferences$|env|Mounts$/.test(path)
  if (isList) return [...(Array.isArray(value) ? value : []), ...entries]
  return Object.assign({}, mapOf(value), ...entries)
}

/**
 * Returns the value with a changed value at the end of a path. Missing keys of maps are added.
 */
function change(
  value: unknown,
  [key, ...rest]: readonly string[],
  make: (value: unknown) => unknown,
): unknown {
  if (key === undefined) return make(value)
  if (!Array.isArray(value))
    return { ...mapOf(value), [key]: change(mapOf(value)[key], rest, make) }
  return value.map((item, place) => (`${place}` === key ? change(item, rest, make) : item))
}
