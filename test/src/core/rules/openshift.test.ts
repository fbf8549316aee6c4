import fc from 'fast-check'
import t from 'tap'
import { buildCatalog } from '../../../../src/core/catalog.ts'
import {
  askingPod,
  type Json,
  metricDocument,
  patchedBy,
  perfOf,
  podOf,
  ride,
  type Texts,
} from '../build.ts'
import { admitBy, type Constraints, STANDARD } from './constraints.ts'

const DEFAULT = { type: 'RuntimeDefault' }
const SCC = { 'openshift.io/scc': 'restricted' }
/** A volume with a token, as the apiserver adds it. */
const TOKEN = { name: 'kube-api-access-x', projected: { sources: [{ serviceAccountToken: {} }] } }

t.test('an observer has no seccomp profile of its own where an SCC may refuse it', async (t) => {
  const profileOf = (container: Json, podContext: Json = {}, annotations: Texts = SCC) => {
    const containers = [{ name: 'app', image: 'a', securityContext: container }]
    const pod = askingPod({ securityContext: podContext, containers }, annotations)
    return perfOf(ride(pod)).securityContext?.seccompProfile
  }
  t.equal(profileOf({}), undefined)
  t.equal(profileOf({ runAsUser: 1000 }), undefined)
  t.equal(profileOf({}, { seccompProfile: DEFAULT }), undefined, 'the profile is inherited')
  t.strictSame(profileOf({ seccompProfile: DEFAULT }), DEFAULT, 'the SCC allows the profile')
  t.strictSame(profileOf({}, {}, {}), DEFAULT, 'no SCC admitted the pod')
})

t.test('Pod Security counts the seccomp profile of the pod', async (t) => {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  const pod = (securityContext: Json) =>
    askingPod({ securityContext: { runAsUser: 1000, ...securityContext } }, SCC)
  t.equal(ride(pod({ seccompProfile: DEFAULT }), { labels }).word, 'injected')
  const { word, message } = ride(pod({}), { labels })
  t.equal(word, 'pod-security')
  t.match(message, 'it has no seccomp profile')
})

const NO_VOLUMES: readonly string[] = ['secret', 'emptyDir']
const profiles = ['runtime/default', 'unconfined', 'localhost/hpc']
const constraints: fc.Arbitrary<Constraints> = fc.oneof(
  fc.constantFrom(...STANDARD),
  fc.record({
    name: fc.constant('custom'),
    user: fc.constantFrom<Constraints['user']>(
      { type: 'RunAsAny' },
      { type: 'MustRunAsNonRoot' },
      { type: 'MustRunAs', uid: 1000 },
      { type: 'MustRunAs', uid: 0 },
      { type: 'MustRunAsRange', min: 1000, max: 2000 },
      { type: 'MustRunAsRange', min: 0, max: 10 },
    ),
    seccompProfiles: fc.subarray(['*', ...profiles]),
    allowedCapabilities: fc.subarray(['SYS_PTRACE', 'CHOWN', 'NET_BIND_SERVICE']),
    defaultAddCapabilities: fc.subarray(['AUDIT_WRITE']),
    requiredDropCapabilities: fc.subarray(['KILL', 'MKNOD']),
    allowPrivilegedContainer: fc.boolean(),
    allowPrivilegeEscalation: fc.boolean(),
    readOnlyRootFilesystem: fc.boolean(),
    volumes: fc.constantFrom(NO_VOLUMES, [...NO_VOLUMES, 'projected']),
  }),
)

const rarely = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })
const seccomp = rarely(
  fc.constantFrom<Json>(
    DEFAULT,
    { type: 'Unconfined' },
    { type: 'Localhost', localhostProfile: 'hpc' },
  ),
)
const users = rarely(fc.constantFrom(0, 1000, 1500, 65_532, 1_000_920_001))
const context: fc.Arbitrary<Json> = fc
  .record({
    runAsUser: users,
    runAsGroup: rarely(fc.constantFrom(0, 1000)),
    runAsNonRoot: rarely(fc.boolean()),
    seccompProfile: seccomp,
    capabilities: rarely(
      fc.record({
        add: fc.subarray(['CHOWN', 'SYS_PTRACE', 'NET_BIND_SERVICE']),
        drop: fc.subarray(['ALL', 'KILL', 'SETUID']),
      }),
    ),
    privileged: rarely(fc.constant(true)),
  })
  .map((fields) =>
    Object.fromEntries(Object.entries(fields).filter(([, one]) => one !== undefined)),
  )
const podContext = fc
  .record({ runAsUser: users, runAsNonRoot: rarely(fc.boolean()), seccompProfile: seccomp })
  .map((fields) =>
    Object.fromEntries(Object.entries(fields).filter(([, one]) => one !== undefined)),
  )

const METRICS = ['perf-sysstat', 'root-stat', 'trace-stat', 'cpu-profile', 'own-stat'] as const
const pods: fc.Arbitrary<Json> = fc
  .record({
    contexts: fc.array(context, { minLength: 1, maxLength: 2 }),
    securityContext: podContext,
    metric: fc.constantFrom(...METRICS),
    mode: fc.constantFrom('native', 'container'),
  })
  .map(({ contexts, securityContext, metric, mode }) => {
    const containers = contexts.map((context, place) => ({
      name: `c${place}`,
      image: 'a',
      securityContext: context,
    }))
    const annotations = { 'ridealong.dev/inject': metric, 'ridealong.dev/mode': mode }
    return podOf(annotations, { containers, securityContext, volumes: [TOKEN] })
  })

/** A catalog with a metric whose own security context has every field that an SCC can refuse. */
const own = metricDocument('own-stat')
const OWN = {
  ...own.spec.container,
  securityContext: {
    runAsUser: 7,
    seccompProfile: DEFAULT,
    allowPrivilegeEscalation: true,
    readOnlyRootFilesystem: false,
    seLinuxOptions: { level: 's0' },
  },
}
const OWN_CATALOG = buildCatalog([metricDocument('own-stat', { container: OWN })], '1')

function answer(pod: Json) {
  const { annotations } = pod.metadata as { annotations: Texts }
  const isOwn = annotations['ridealong.dev/inject'] === 'own-stat'
  const labels = { 'ridealong.dev/privilege': 'privileged', 'ridealong.dev/tools': 'true' }
  return ride(pod, { labels, ...(isOwn && { catalog: OWN_CATALOG }) })
}

t.test('an SCC that admits a pod also admits the pod with its observers', async (t) => {
  const words = new Map<string, number>()
  const property = fc.property(constraints, pods, (scc, pod) => {
    const alone = admitBy(scc, pod)
    if ('problems' in alone) {
      words.set('refused', (words.get('refused') ?? 0) + 1)
      return
    }
    const { word, answer: review } = answer(alone.pod)
    words.set(word, (words.get(word) ?? 0) + 1)
    const together = admitBy(scc, patchedBy<Json>(alone.pod, review.response))
    const problems = 'problems' in together ? together.problems : []
    if (problems.length > 0) throw new Error(`${word}: ${problems.join(', ')}`)
  })
  fc.assert(property, { numRuns: 20_000 })
  t.comment(Object.fromEntries(words))
  t.ok((words.get('injected') ?? 0) > 1000, 'more than 1000 pods are injected')
  t.ok((words.get('pod-security') ?? 0) > 50, 'some pods are left, with a reason')
  t.ok((words.get('refused') ?? 0) > 1000, 'the rules refuse some pods without observers')
})

t.test('the observer that SCCs refused before is refused by these rules', async (t) => {
  for (const scc of STANDARD.filter(({ seccompProfiles }) => seccompProfiles === undefined)) {
    const alone = admitBy(scc, podOf({}, { containers: [{ name: 'a', image: 'a' }] }))
    if (!('pod' in alone)) throw new Error(scc.name)
    const { pod } = ride(askingPod(alone.pod.spec as Json))
    const together = admitBy(scc, pod as unknown as Json)
    t.match(together, { problems: ['perf-sysstat: seccomp runtime/default'] }, scc.name)
  }
})

t.test('under every standard SCC, a pod of a root image gets an observer', async (t) => {
  for (const scc of STANDARD) {
    const alone = admitBy(scc, askingPod({ containers: [{ name: 'a', image: 'a' }] }))
    if (!('pod' in alone)) throw new Error(scc.name)
    t.equal(ride(alone.pod).word, 'injected', scc.name)
  }
})

t.test('an observer of the catalog with another user is left with a reason', async (t) => {
  const asking = (scc: string, container: Json) =>
    ride(
      podOf(
        { 'ridealong.dev/inject': 'root-stat', 'openshift.io/scc': scc },
        { containers: [{ name: 'a', image: 'a', securityContext: container }] },
      ),
      { labels: { 'ridealong.dev/privilege': 'baseline' } },
    )
  const { word, message } = asking('restricted-v2', { runAsUser: 1_000_920_000 })
  t.equal(word, 'pod-security')
  t.equal(
    message,
    'observer root-stat: it runs as user 0, which the SecurityContextConstraints "restricted-v2"' +
      ' may not allow',
  )
  t.equal(asking('anyuid', { runAsUser: 1000 }).word, 'injected')
  t.equal(asking('privileged', { runAsUser: 1000 }).word, 'injected')
  t.equal(asking('custom', {}).word, 'injected', 'the target may be root')
  t.equal(asking('custom', { runAsNonRoot: true }).word, 'pod-security')
})
