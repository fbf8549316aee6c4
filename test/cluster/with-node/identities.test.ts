import t from 'tap'
import type { Cluster } from '../machine/cluster.ts'
import { APPLICATIONS, DEBIAN_IMAGE, IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// The status annotation of a pod must predict the counters that its observer can read, for each
// user that the pod or the image can set for the target.

/** The images of the targets, by their user. Debian's image sets no user, so it runs as root. */
const TARGETS = {
  root: DEBIAN_IMAGE,
  1234: APPLICATIONS['user-1234'],
  65532: APPLICATIONS['user-65532'],
} as const

/** The namespaces, and the Pod Security level that each enforces. */
const SPACES = {
  'identities-privileged': 'privileged',
  'identities-baseline': 'baseline',
  'identities-restricted': 'restricted',
} as const

type Readable = 'all' | 'no-io'

interface Case {
  /** The settings of the target and of its pod. */
  readonly title: string
  readonly predicted: Readable | 'unknown'
  /** The counters that can be read, by the image of the target. */
  readonly read: Readonly<Partial<Record<keyof typeof TARGETS, Readable>>>
  /** The security context of the target. */
  readonly context?: object
  readonly spec?: object
  readonly space?: keyof typeof SPACES
}

const RESTRICTED = {
  runAsNonRoot: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}
const USER = { runAsUser: 1000, runAsGroup: 1000 }
const ROOT = { runAsUser: 0, runAsGroup: 0 }

/**
 * A case predicts `unknown` only if the readable counters depend on the image, so that any other
 * prediction is wrong for one of the images.
 */
const CASES: readonly Case[] = [
  { title: 'no user', predicted: 'all', read: { root: 'all', 1234: 'all' } },
  {
    title: 'no user, and a group',
    context: { runAsGroup: 4321 },
    predicted: 'all',
    read: { root: 'all', 1234: 'all' },
  },
  {
    title: 'no user, in a namespace that enforces baseline',
    space: 'identities-baseline',
    predicted: 'all',
    read: { root: 'all', 1234: 'all' },
  },
  {
    title: 'no user, with hostNetwork',
    spec: { hostNetwork: true },
    predicted: 'all',
    read: { root: 'all' },
  },
  {
    title: 'no user, and a dropped capability',
    context: { capabilities: { drop: ['NET_RAW'] } },
    predicted: 'all',
    read: { root: 'all', 1234: 'all' },
  },
  {
    title: 'no user, and no capabilities',
    context: { capabilities: { drop: ['ALL'] } },
    predicted: 'unknown',
    read: { root: 'all', 1234: 'no-io' },
  },
  {
    title: 'no user, and only one added capability',
    context: { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } },
    predicted: 'no-io',
    read: { root: 'no-io', 1234: 'no-io' },
  },
  {
    title: 'no user, and SYS_PTRACE added',
    context: { capabilities: { add: ['SYS_PTRACE'] } },
    predicted: 'unknown',
    read: { root: 'no-io', 1234: 'all' },
  },
  {
    title: 'no user, and privileged',
    context: { privileged: true },
    predicted: 'unknown',
    read: { root: 'no-io', 1234: 'all' },
  },
  {
    title: 'user 0, and SYS_PTRACE added',
    context: { ...ROOT, capabilities: { add: ['SYS_PTRACE'] } },
    predicted: 'no-io',
    read: { root: 'no-io' },
  },
  {
    title: 'user 0, and privileged',
    context: { ...ROOT, privileged: true },
    predicted: 'no-io',
    read: { root: 'no-io' },
  },
  { title: 'runAsUser 0', context: { runAsUser: 0 }, predicted: 'all', read: { root: 'all' } },
  {
    title: 'runAsUser and runAsGroup',
    context: USER,
    predicted: 'all',
    read: { root: 'all', 1234: 'all' },
  },
  {
    title: 'only runAsUser, so that the image may set the group',
    context: { runAsUser: 1234 },
    predicted: 'unknown',
    read: { root: 'all', 1234: 'no-io' },
  },
  {
    title: 'only runAsNonRoot',
    context: { runAsNonRoot: true },
    predicted: 'unknown',
    read: { 1234: 'no-io', 65532: 'all' },
  },
  {
    title: 'only runAsNonRoot, in a namespace that enforces restricted',
    context: RESTRICTED,
    space: 'identities-restricted',
    predicted: 'unknown',
    read: { 1234: 'no-io', 65532: 'all' },
  },
  {
    title: 'runAsUser and runAsGroup, in a namespace that enforces restricted',
    context: { ...RESTRICTED, ...USER },
    space: 'identities-restricted',
    predicted: 'all',
    read: { root: 'all' },
  },
]

interface Watched {
  readonly name: string
  readonly space: string
  readonly title: string
  readonly predicted: string
  readonly read: Readable
  readonly pod: object
}

/** A pod for each case and each of its images. */
function watchedPods(): readonly Watched[] {
  return CASES.flatMap(({ title, predicted, read, context, spec, space }, index) =>
    Object.entries(TARGETS).flatMap(([user, image]) => {
      const expected = read[user as unknown as keyof typeof TARGETS]
      if (expected === undefined) return []
      const name = `case-${index}-${user}`
      const place = space ?? 'identities-privileged'
      const target = `a target with ${title}, and with ${user} as the user of its image`
      const about = { name, space: place, title: `${predicted} is predicted for ${target}` }
      return { ...about, predicted, read: expected, pod: podOf(name, image, context, spec) }
    }),
  )
}

function podOf(name: string, image: string, securityContext?: object, spec?: object): object {
  const annotations = {
    'ridealong.dev/inject': 'perf-sysstat',
    'perf-sysstat.ridealong.dev/rate': '1',
  }
  const container = { name: 'app', image, command: ['sleep', '600'], securityContext }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations },
    spec: { containers: [container], terminationGracePeriodSeconds: 5, ...spec },
  }
}

interface Seen {
  /** The counters that the status annotation of the created pod predicts. */
  readonly counters: unknown
  /** The counters that the observer reports as readable. */
  readonly said: unknown
  /** For each row of the log, whether `kb_rd_s` is null. */
  readonly hidden: readonly boolean[]
}

const BYTES = /"kb_rd_s":(null|[\d.]+)/g

/** Creates a pod and waits until its observer has written a row. */
async function observe(cluster: Cluster, { name, space, pod }: Watched): Promise<Seen> {
  const here = ['-n', space]
  const created = await kubectl(
    cluster,
    ['create', ...here, '-o', 'json', '-f', '-'],
    JSON.stringify(pod),
  )
  const { annotations } = JSON.parse(created).metadata
  const { counters } = JSON.parse(annotations['ridealong.dev/status'])
  let log = ''
  await until(`the observer of ${name} has sampled`, async () => {
    log = await kubectl(cluster, ['logs', name, ...here, '-c', 'perf-sysstat']).catch(() => '')
    return /"kb_rd_s"/.test(log)
  })
  const { counters: said } = JSON.parse(/METADATA START (.*)/.exec(log)?.[1] ?? '{}')
  return { counters, said, hidden: [...log.matchAll(BYTES)].map(([, bytes]) => bytes === 'null') }
}

t.test('the status annotation predicts the counters that the observer can read', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  for (const [name, level] of Object.entries(SPACES)) {
    await createNamespace(t, api, name, { labels: { 'pod-security.kubernetes.io/enforce': level } })
  }
  const pods = watchedPods()
  const seen = await Promise.all(pods.map((pod) => observe(cluster, pod)))
  for (const [index, { title, predicted, read }] of pods.entries()) {
    const { counters, said, hidden } = seen[index] ?? {}
    await t.test(title, async (t) => {
      t.equal(counters, predicted, 'the status predicts the counters')
      t.equal(said, read, 'the observer reports the counters that it can read')
      t.strictSame(
        new Set(hidden),
        new Set([read === 'no-io']),
        'bytes are null only if they cannot be read',
      )
    })
  }
})

t.test('unknown is predicted only if the readable counters depend on the image', async (t) => {
  for (const { title, predicted, read } of CASES) {
    const answers = new Set(Object.values(read))
    const count = predicted === 'unknown' ? 2 : 1
    t.equal(answers.size, count, `${count} kinds of readable counters: ${title}`)
    if (predicted !== 'unknown') t.ok(answers.has(predicted), `${predicted} is true: ${title}`)
  }
})
