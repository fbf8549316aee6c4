import t from 'tap'
import type { Catalog, Metric } from '../../../src/core/catalog.ts'
import { REASONS, type Reason } from '../../../src/core/reasons.ts'
import { REMEDIES } from '../../../src/explain/causes.ts'
import { RULES } from '../../../src/explain/rules.ts'
import {
  askingPod,
  CATALOG,
  type Json,
  limitRange,
  type PodObject,
  podOf,
  resourceQuota,
  ride,
} from '../core/build.ts'
import { explained, type Situation } from './build.ts'

interface Case {
  readonly pod: unknown
  readonly where?: Situation
  /** Matches the conclusion. */
  readonly sentence: RegExp
}

const SCRATCH = { containers: [{ name: 'app' }, { name: 'perf-sysstat' }] }
const ENFORCED = { 'pod-security.kubernetes.io/enforce': 'restricted' }
const SMALL = { max: { memory: '16Mi' } }
const HEAVY = { note: 'x'.repeat(256 * 1024 - 40) }

const broken = {
  ...CATALOG.metrics.get('perf-sysstat'),
  get container(): never {
    throw new Error('a defect')
  },
} as unknown as Metric
const BROKEN: Catalog = { ...CATALOG, metrics: new Map([['perf-sysstat', broken]]) }

/** Returns the pod with another image of its observer. */
function foreign(pod: PodObject): Json {
  const initContainers = pod.spec.initContainers?.map((one) => ({ ...one, image: 'foreign:1' }))
  return { ...pod, spec: { ...pod.spec, initContainers } }
}

const APP = { name: 'app', image: 'registry.example/app:1' }
const TAKEN = [{ name: 'CPUPROFILE', value: '/tmp/own' }]

/** A pod for each reason. */
const CASES: Readonly<Record<Reason, Case>> = {
  'not-asked': { pod: podOf(), sentence: /observers: neither the pod nor its namespace requests/ },
  'opted-out': {
    pod: podOf({ 'ridealong.dev/inject': 'false' }),
    sentence: /observers: the pod has the annotation ridealong\.dev\/inject: "false"/,
  },
  'not-create': {
    pod: askingPod(),
    where: { review: { operation: 'UPDATE' } },
    sentence: /observers: observers can only be added when a pod is created/,
  },
  'already-injected': { pod: ride(askingPod()).pod, sentence: /already has its observers/ },
  'observer-differs': {
    pod: foreign(ride(askingPod()).pod),
    sentence: /would not be changed: container perf-sysstat has image "foreign:1" instead of/,
  },
  'mirror-pod': {
    pod: askingPod({}, { 'kubernetes.io/config.mirror': 'x' }),
    sentence: /observers: the pod is the mirror of a static pod/,
  },
  'excluded-namespace': {
    pod: askingPod(),
    where: { excluded: ['hpc'] },
    sentence: /observers: the administrator has excluded this namespace/,
  },
  'invalid-pod': { pod: { metadata: {} }, sentence: /the pod must have metadata and a spec/ },
  'host-pid': {
    pod: askingPod({ hostPID: true }),
    sentence: /observers: hostPID cannot be combined/,
  },
  windows: {
    pod: askingPod({ os: { name: 'windows' } }),
    sentence: /observers: Windows pods cannot/,
  },
  'operator-conflict': {
    pod: {
      ...podOf(),
      metadata: {
        annotations: { 'ridealong.dev/inject': 'perf-sysstat' },
        labels: { 'workflows.argoproj.io/workflow': 'a' },
      },
    },
    sentence: /observers: Argo Workflows created this pod/,
  },
  'unknown-metric': {
    pod: podOf({ 'ridealong.dev/inject': 'perf-stat' }),
    sentence:
      /: annotation ridealong\.dev\/inject: "perf-stat" is .*; known metrics are cpu-profile, io-/,
  },
  'invalid-option': {
    pod: askingPod({}, { 'perf-sysstat.ridealong.dev/rate': '0' }),
    sentence: /observers: annotation perf-sysstat\.ridealong\.dev\/rate: "0" is not an integer/,
  },
  'rank-not-selected': {
    pod: podOf(
      { 'ridealong.dev/inject': 'perf-sysstat', 'ridealong.dev/ranks': 'every:4' },
      {},
      { labels: { 'batch.kubernetes.io/job-completion-index': '3' } },
    ),
    sentence: /observers: annotation ridealong\.dev\/ranks: every:4 does not select rank 3\./,
  },
  'rank-unknown': {
    pod: askingPod({}, { 'ridealong.dev/ranks': 'every:4' }),
    sentence: /observers: .*\/ranks: the rank of the pod is not known: it has none of batch\./,
  },
  'unknown-target-container': {
    pod: askingPod({}, { 'ridealong.dev/target-container': 'main' }),
    sentence: /observers: .*: "main" is not .* pod, which has "app"/,
  },
  'name-taken': {
    pod: askingPod(SCRATCH),
    sentence: /observers: container perf-sysstat of the pod has/,
  },
  'pod-security': {
    pod: askingPod(),
    where: { labels: ENFORCED },
    sentence: /: namespace "hpc" enforces .* restricted, which refuses the observer perf-sysstat/,
  },
  'limit-range': {
    pod: askingPod(),
    where: { rules: { limitRanges: [limitRange(SMALL)] } },
    sentence: /observers: LimitRange "small": /,
  },
  quota: {
    pod: askingPod(),
    where: { rules: { resourceQuotas: [resourceQuota({ 'limits.memory': '16Mi' })] } },
    sentence: /observers: ResourceQuota "compute".*/,
  },
  'tools-not-allowed': {
    pod: podOf({ 'ridealong.dev/inject': 'cpu-profile' }),
    sentence: /cpu-profile loads a library into the application, which namespace "hpc" does not/,
  },
  'variable-taken': {
    pod: podOf({ 'ridealong.dev/inject': 'cpu-profile' }, { containers: [{ ...APP, env: TAKEN }] }),
    where: { labels: { 'ridealong.dev/tools': 'true' } },
    sentence: /sets the variable CPUPROFILE, which container "app" already has/,
  },
  'path-taken': {
    pod: podOf(
      { 'ridealong.dev/inject': 'cpu-profile' },
      {
        containers: [{ ...APP, volumeMounts: [{ name: 'own', mountPath: '/ridealong/profiles' }] }],
      },
    ),
    where: { labels: { 'ridealong.dev/tools': 'true' } },
    sentence: /needs the path \/ridealong\/profiles, but container "app" has a mount at/,
  },
  'observer-unavailable': {
    pod: askingPod(),
    where: { heldImages: [] },
    sentence: /observers: no node is known to have registry\.example\/observer:1/,
  },
  privilege: {
    pod: podOf({ 'ridealong.dev/inject': 'trace-stat' }),
    sentence: /: metric trace-stat needs the privilege privileged, but .* grants restricted/,
  },
  'too-large': {
    pod: askingPod({}, HEAVY),
    sentence: /observers: with ridealong.dev\/status, the annotations would exceed the 256 KiB/,
  },
  'internal-error': {
    pod: askingPod(),
    where: { catalog: BROKEN },
    sentence: /observers: internal error in Ridealong/,
  },
}

for (const [reason, { pod, where, sentence }] of Object.entries(CASES)) {
  t.test(
    `the explanation of ${reason} names the failed rule, if any, and the remedy`,
    async (t) => {
      const explanation = explained(pod, where)
      const { outcome, findings } = explanation
      t.match(explanation.conclusion, sentence)
      if (reason === 'already-injected') {
        t.equal(outcome, 'injected')
        return
      }
      const word = reason === 'observer-differs' ? 'unverified' : 'left'
      t.match(explanation, { outcome: word, reason, remedy: REMEDIES[reason as Reason] })
      const stops = findings.flatMap((one) => (one.verdict === 'no' ? [one.reason] : []))
      t.strictSame(stops, [reason])
    },
  )
}

t.test('every reason except internal-error belongs to one rule', async (t) => {
  const listed = RULES.flatMap(({ reasons }) => reasons)
  const all = Object.keys(REASONS).filter((reason) => reason !== 'internal-error')
  t.strictSame([...listed].sort(), all.sort())
})

/** Faults that can be combined, in the order of the rules. */
const FAULTS = [
  { reason: 'mirror-pod', annotations: { 'kubernetes.io/config.mirror': 'x' } },
  { reason: 'host-pid', spec: { hostPID: true } },
  { reason: 'windows', spec: { os: { name: 'windows' } } },
  { reason: 'invalid-option', annotations: { 'perf-sysstat.ridealong.dev/rate': '0' } },
  { reason: 'rank-unknown', annotations: { 'ridealong.dev/ranks': '0' } },
  { reason: 'operator-conflict', labels: { 'workflows.argoproj.io/workflow': 'a' } },
  { reason: 'unknown-target-container', annotations: { 'ridealong.dev/target-container': 'main' } },
  { reason: 'name-taken', spec: SCRATCH },
  { reason: 'pod-security', where: { labels: ENFORCED } },
  { reason: 'limit-range', rules: { limitRanges: [limitRange(SMALL)] } },
  { reason: 'quota', rules: { resourceQuotas: [resourceQuota({ 'limits.memory': '16Mi' })] } },
  { reason: 'too-large', annotations: HEAVY },
] as const

for (const [index, first] of FAULTS.entries()) {
  t.test(`${first.reason} is reported instead of the reasons of later rules`, async (t) => {
    for (const second of FAULTS.slice(index + 1)) {
      const both: readonly Fault[] = [first, second]
      const merged = (part: 'annotations' | 'labels' | 'spec' | 'where' | 'rules') =>
        Object.assign({}, ...both.map((fault) => fault[part]))
      const metadata = { labels: merged('labels') }
      const annotations = { 'ridealong.dev/inject': 'perf-sysstat', ...merged('annotations') }
      const pod = podOf(annotations, merged('spec'), metadata)
      const { reason, findings } = explained(pod, { ...merged('where'), rules: merged('rules') })
      t.equal(reason, first.reason, `together with ${second.reason}`)
      const place = (word: string) =>
        findings.findIndex(({ name }) =>
          RULES.some((r) => r.name === name && r.reasons.some((one) => one === word)),
        )
      t.ok(place(first.reason) < place(second.reason))
      t.equal(findings[place(second.reason)]?.verdict, 'open', 'the later rule is not reached')
    }
  })
}

interface Fault {
  readonly reason: Reason
  readonly annotations?: object
  readonly labels?: object
  readonly spec?: object
  readonly where?: object
  readonly rules?: object
}

t.test('the explanation of an injection has the cost of all pods', async (t) => {
  const pod = askingPod({}, { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' })
  const { outcome, conclusion, cost, findings } = explained(pod, { pods: 64 })
  t.equal(outcome, 'injected')
  t.match(conclusion, /^The pod would be injected with perf-sysstat, io-sysstat if the webhook/)
  t.strictSame(cost, {
    pods: 64,
    requests: { cpu: '0', memory: '0' },
    limits: { cpu: '12800m', memory: '4Gi' },
  })
  t.match(
    findings.find(({ name }) => name === 'request')?.sentence,
    /^perf-sysstat \(rate=10, .*\); mode native; target .* by default; on error admit$/,
  )
})

t.test('the cost of a Guaranteed pod includes requests', async (t) => {
  const resources = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } }
  const { cost } = explained(askingPod({ containers: [{ name: 'app', resources }] }), { pods: 2 })
  t.match(cost, {
    requests: { cpu: '200m', memory: '64Mi' },
    limits: { cpu: '200m', memory: '64Mi' },
  })
})

t.test('explain predicts that a faulty pod with on-error: deny is denied', async (t) => {
  const pod = askingPod({ hostPID: true }, { 'ridealong.dev/on-error': 'deny' })
  t.match(explained(pod), {
    outcome: 'denied',
    reason: 'host-pid',
    conclusion: /would be denied/,
  })
})

/**
 * Returns a pod as `inject --metrics` writes it: with its observers, and without the annotation
 * `ridealong.dev/inject`.
 */
function carrying(pod: PodObject): Json & { readonly metadata: Json } {
  const { 'ridealong.dev/inject': _, ...annotations } = pod.metadata.annotations ?? {}
  return { ...pod, metadata: { ...pod.metadata, annotations } }
}

t.test('a manifest that contains its observers counts as injected', async (t) => {
  const pod = carrying(ride(askingPod()).pod)
  const { outcome, conclusion, cost, reason, findings } = explained(pod)
  t.equal(outcome, 'injected')
  t.equal(reason, undefined)
  t.equal(
    conclusion,
    'The pod already has perf-sysstat from its manifest, and the webhook adds nothing.',
  )
  t.match(cost, { pods: 1, limits: { cpu: '100m', memory: '32Mi' } })
  t.strictSame(
    findings.filter(({ verdict }) => verdict === 'no'),
    [],
  )
  t.match(
    findings.find(({ name }) => name === 'asks'),
    { verdict: 'look', sentence: /neither the pod nor its namespace requests/ },
  )
  const absent = { webhook: { configuration: { value: undefined } } }
  t.equal(explained(pod, absent).outcome, 'injected', 'the outcome does not depend on a webhook')
  t.equal(explained(pod, { excluded: ['hpc'] }).outcome, 'injected')
  const more = explained(pod, { annotations: { 'ridealong.dev/inject': 'io-sysstat' } })
  t.match(
    more.conclusion,
    /would be injected with io-sysstat/,
    'the webhook can add other observers',
  )
})

t.test('a manifest with changed observers is unverified or altered', async (t) => {
  const pod = ride(askingPod()).pod
  t.match(explained(carrying(foreign(pod) as unknown as PodObject)), {
    outcome: 'unverified',
    reason: 'observer-differs',
    conclusion:
      /^The annotation ridealong\.dev\/status says that .+, but this is not verified: cont/,
  })
  const spec = { ...pod.spec, shareProcessNamespace: undefined }
  t.match(explained(carrying({ ...pod, spec } as unknown as PodObject)), {
    outcome: 'left',
    reason: 'altered',
    conclusion: /^The manifest's observers were changed: shareProcessNamespace is not true/,
  })
})
