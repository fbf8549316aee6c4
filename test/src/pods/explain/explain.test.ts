import t from 'tap'
import { REASONS, type Reason, RULES } from '../../../../src/core/reasons.ts'
import { findRemedy } from '../../../../src/pods/explain/causes.ts'
import {
  askingPod,
  type Json,
  limitRange,
  type PodObject,
  podOf,
  resourceQuota,
  ride,
} from '../../core/build.ts'
import { podInCase, REASON_CASES } from '../../core/reason-cases.ts'
import { explained } from './build.ts'

const SCRATCH = { containers: [{ name: 'app' }, { name: 'perf-sysstat' }] }
const ENFORCED = { 'pod-security.kubernetes.io/enforce': 'restricted' }
const SMALL = { max: { memory: '16Mi' } }
const HEAVY = { note: 'x'.repeat(256 * 1024 - 40) }

/** Returns the pod with another image of its observer. */
function foreign(pod: PodObject): Json {
  const initContainers = pod.spec.initContainers?.map((one) => ({ ...one, image: 'foreign:1' }))
  return { ...pod, spec: { ...pod.spec, initContainers } }
}

for (const [reason, reasonCase] of Object.entries(REASON_CASES)) {
  t.test(
    `the explanation of ${reason} names the failed rule, if any, and the remedy`,
    async (t) => {
      const pod = podInCase(reasonCase)
      const { message } = ride(pod, reasonCase.place)
      const { outcome, conclusion, remedy, findings, ...explanation } = explained(
        pod,
        reasonCase.place,
      )
      if (reason === 'already-injected') {
        t.equal(outcome, 'injected')
        t.match(conclusion, 'the pod has its observers')
        return
      }
      t.equal(outcome, reason === 'observer-differs' ? 'unverified' : 'left')
      t.equal(explanation.reason, reason)
      t.ok(conclusion.endsWith(`: ${message}.`), conclusion)
      t.equal(remedy, findRemedy(reason as Reason))
      t.notMatch(remedy, /[`[\]]/, 'the remedy has no markup')
      const stops = findings.flatMap((one) => (one.verdict === 'no' ? [one] : []))
      const name = REASONS[reason as Reason].rule ?? 'defects'
      t.match(stops, [{ name, reason, sentence: message }])
      t.equal(stops.length, 1)
    },
  )
}

t.test('every rule leaves or denies pods for some reason', async (t) => {
  const used = Object.values(REASONS).map(({ rule }) => rule)
  for (const { name } of RULES) t.ok(used.includes(name), name)
})

/** Faults that can be combined, in the order of the rules. */
const FAULTS = [
  { reason: 'mirror-pod', annotations: { 'kubernetes.io/config.mirror': 'x' } },
  { reason: 'host-pid', spec: { hostPID: true } },
  { reason: 'windows', spec: { os: { name: 'windows' } } },
  { reason: 'invalid-option', annotations: { 'perf-sysstat.ridealong.dev/rate': '0' } },
  { reason: 'pod-index-unknown', annotations: { 'ridealong.dev/pods': '0' } },
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
      const place = (word: Reason) => findings.findIndex(({ name }) => name === REASONS[word].rule)
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
 * Returns a pod as `inject --metric` writes it: with its observers, and without the annotation
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
  t.equal(conclusion, 'The webhook adds nothing: the pod has perf-sysstat from its manifest.')
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

t.test('the explanation of a manifest names the metrics that its pod lacks', async (t) => {
  const { pod } = ride(askingPod({}, { 'ridealong.dev/inject': 'perf-sysstat,misspelt-metric' }))
  const without =
    'without misspelt-metric: unknown-metric: annotation ridealong.dev/inject: "misspelt-metric"'
  for (const [found, has] of [
    [explained(carrying(pod)), `the pod has perf-sysstat from its manifest, ${without}`],
    [explained(pod), `the pod has its observers, ${without}`],
  ] as const) {
    t.match(found.conclusion, has)
    t.match(found, {
      outcome: 'injected',
      left: [{ metric: 'misspelt-metric', reason: 'unknown-metric' }],
      remedy: findRemedy('unknown-metric'),
    })
  }
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
