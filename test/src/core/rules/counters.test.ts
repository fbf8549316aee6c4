import t from 'tap'
import { buildCatalog } from '../../../../src/core/catalog.ts'
import { askingPod, type Json, metricDocument, podOf, ride, type Texts } from '../build.ts'

const USER = { runAsUser: 1000, runAsGroup: 1000 }
const ROOT = { runAsUser: 0, runAsGroup: 0 }

// Tests of the predicted counters that an observer can read. docs/metrics/README.md lists them.

/** Returns the counters in the status annotation of a pod with one container. */
function countersOf(container: Json | undefined, podLevel?: Json): unknown {
  const containers = [{ name: 'app', image: 'app', securityContext: container }]
  return ride(askingPod({ securityContext: podLevel, containers })).status?.counters
}

/**
 * Returns the counters in the status annotation of a pod with one container. The metric has its own
 * security context.
 */
function countersWith(own: Json, target?: Json, podLevel?: Json): unknown {
  const { spec } = metricDocument('own')
  const container = { ...spec.container, securityContext: own }
  const catalog = buildCatalog([metricDocument('own', { container })], 'r')
  const containers = [{ name: 'app', image: 'app', securityContext: target }]
  const asking = podOf({ 'ridealong.dev/inject': 'own' }, { securityContext: podLevel, containers })
  return ride(asking, { catalog }).status?.counters
}

t.test(
  'if a user is set, the counters depend on user, group and capabilities of the target',
  async (t) => {
    const rows: [string, string, Json | undefined, Json?][] = [
      ['all', 'user and group are known', USER],
      ['all', 'user and group are known from the pod', undefined, USER],
      ['unknown', 'the group is not known', { runAsUser: 1000 }],
      ['unknown', 'an executable may have an added capability', adding(USER, 'SYS_PTRACE')],
      ['unknown', 'not root, but privileged', { ...USER, privileged: true }],
      ['all', 'root with a known group', ROOT],
      ['all', 'root can take the group of a process', { runAsUser: 0 }],
      ['all', 'root that drops all', dropping(ROOT, 'ALL')],
      ['all', 'root that drops some', dropping(ROOT, 'NET_RAW')],
      ['all', 'root that adds a capability that baseline allows', adding(ROOT, 'MKNOD')],
      ['unknown', 'root that cannot take a group', dropping({ runAsUser: 0 }, 'SETGID')],
      ['no-io', 'root that adds SYS_PTRACE', adding(ROOT, 'SYS_PTRACE')],
      ['no-io', 'root that adds all', adding(ROOT, 'ALL')],
      ['no-io', 'root that is privileged', { ...ROOT, privileged: true }],
    ]
    for (const [counters, name, container, podLevel] of rows) {
      t.equal(countersOf(container, podLevel), counters, `target: ${name}`)
    }
  },
)

/** Returns the counters in the status annotation of a pod whose target is `app`. */
function countersIn(spec: Json, annotations: Texts = {}): unknown {
  const app = { name: 'app', image: 'app', ...(spec.container as Json | undefined) }
  return ride(askingPod({ containers: [app], ...spec }, annotations)).status?.counters
}

t.test('SELinux options, AppArmor annotations and sandboxes make counters unknown', async (t) => {
  const options = { type: 'hpc_t', level: 's0:c1,c2' }
  const context = { securityContext: { seLinuxOptions: options } }
  const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io'
  const rows: [string, string, Json, Texts?][] = [
    ['unknown', 'SELinux options of the container', { container: context }],
    ['all', 'SELinux options of the pod', context],
    ['all', 'the same options on both', { ...context, container: context }],
    [
      'unknown',
      'another level than the pod',
      { securityContext: { seLinuxOptions: { ...options, level: 's0' } }, container: context },
    ],
    ['unknown', 'a profile by annotation', {}, { [`${APP_ARMOR}/app`]: 'localhost/hpc' }],
    ['unknown', 'no profile by annotation', {}, { [`${APP_ARMOR}/app`]: 'unconfined' }],
    ['all', 'the default by annotation', {}, { [`${APP_ARMOR}/app`]: 'runtime/default' }],
    ['all', 'a profile of another container', {}, { [`${APP_ARMOR}/other`]: 'localhost/hpc' }],
    [
      'all',
      'the profile of the pod by annotation',
      { securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: 'hpc' } } },
      { [`${APP_ARMOR}/app`]: 'localhost/hpc' },
    ],
    ['unknown', 'gVisor', { runtimeClassName: 'gvisor' }],
    ['unknown', 'Kata Containers', { runtimeClassName: 'kata-qemu' }],
    ['all', 'a runtime with GPUs', { runtimeClassName: 'nvidia' }],
    [
      'no-io',
      'a sandbox, if I/O is hidden anyway',
      { runtimeClassName: 'kata', container: { securityContext: { ...ROOT, privileged: true } } },
    ],
  ]
  for (const [counters, name, spec, annotations] of rows) {
    t.equal(countersIn(spec, annotations), counters, name)
  }
})

t.test('if no user is set, the observer runs as root and can read all counters', async (t) => {
  const rows: [string, string, Json | undefined, Json?][] = [
    ['all', 'nothing is set', undefined],
    ['all', 'the container sets a group', { runAsGroup: 1000 }],
    ['all', 'the pod sets a group', undefined, { runAsGroup: 1000 }],
    ['all', 'a capability is dropped that reading does not need', dropping({}, 'NET_RAW')],
    ['all', 'a capability is added that runtimes grant anyway', adding({}, 'CHOWN')],
    ['all', 'the container may be root', { runAsNonRoot: false }, { runAsNonRoot: true }],
    ['all', 'seccomp is off', { seccompProfile: { type: 'Unconfined' } }],
  ]
  for (const [counters, name, container, podLevel] of rows) {
    t.equal(countersOf(container, podLevel), counters, `target: ${name}`)
  }
})

t.test('the counters are unknown if they depend on the user that the image sets', async (t) => {
  const rows: [string, Json | undefined, Json?][] = [
    ['all capabilities are dropped', dropping({}, 'ALL')],
    ['SETUID is dropped', dropping({}, 'SETUID')],
    ['SETGID is dropped, in lower case', dropping({}, 'setgid')],
    ['CAP_SETUID is dropped, which only some runtimes understand', dropping({}, 'CAP_SETUID')],
    ['a capability is added that root then has', adding({}, 'SYS_PTRACE')],
    ['a capability is added that only some runtimes grant', adding({}, 'MKNOD')],
    ['the container is privileged', { privileged: true }],
    ['runAsNonRoot is true', { runAsNonRoot: true }],
    ['runAsNonRoot is true, and the group is known', { runAsNonRoot: true, runAsGroup: 1000 }],
  ]
  for (const [name, container, podLevel] of rows) {
    t.equal(countersOf(container, podLevel), 'unknown', name)
  }
  t.equal(
    countersOf({ capabilities: { drop: ['ALL'], add: ['CHOWN'] } }),
    'no-io',
    'a target that is root has more capabilities, and for another user SETUID is missing',
  )
})

t.test(
  'the counters are unknown if target and observer have different AppArmor profiles',
  async (t) => {
    const unconfined = { appArmorProfile: { type: 'Unconfined' } }
    const local = (name: string) => ({
      appArmorProfile: { type: 'Localhost', localhostProfile: name },
    })
    t.equal(countersOf(unconfined), 'unknown')
    t.equal(countersOf(undefined, unconfined), 'all', 'the observer has the profile of the pod')
    t.equal(
      countersOf({ appArmorProfile: { type: 'RuntimeDefault' } }),
      'all',
      'RuntimeDefault is the default profile',
    )
    t.equal(countersOf({ ...USER, ...local('a') }, local('a')), 'all', 'both have the same profile')
    t.equal(
      countersOf({ ...USER, ...local('a') }, local('b')),
      'unknown',
      'target and observer have different profiles',
    )
    t.equal(
      countersWith({ privileged: true }, unconfined),
      'all',
      'a privileged observer has no profile',
    )
  },
)

const container = (name: string, securityContext?: Json) => ({
  name,
  image: 'a',
  securityContext,
})

const ids = (id: number) => ({ runAsUser: id, runAsGroup: id })

const sidecar = (name: string, context?: Json) => ({
  ...container(name, context),
  restartPolicy: 'Always',
})

const [SEVEN, EIGHT] = [container('a', ids(7)), container('b', ids(8))]

/** The counters, a description of the containers of a pod, and the containers. */
const CONTAINERS: [string, string, Json][] = [
  ['all', 'containers of one user', { containers: [SEVEN, container('b', ids(7))] }],
  ['unknown', 'containers of two users', { containers: [SEVEN, EIGHT] }],
  [
    'unknown',
    'containers of one user and two groups',
    { containers: [SEVEN, container('b', { runAsUser: 7, runAsGroup: 8 })] },
  ],
  ['unknown', 'containers of which only one sets a user', { containers: [SEVEN, container('b')] }],
  ['all', 'the first container sets no user', { containers: [container('a'), EIGHT] }],
  [
    'unknown',
    'the second container has capabilities that the first one drops',
    { containers: [container('a', dropping(ROOT, 'ALL')), container('b', ROOT)] },
  ],
  [
    'all',
    'the second container drops capabilities that the first one has',
    { containers: [container('a', ROOT), container('b', dropping(ROOT, 'ALL'))] },
  ],
  [
    'unknown',
    'a native sidecar of another user',
    { containers: [SEVEN], initContainers: [sidecar('b', ids(8))] },
  ],
  [
    'all',
    'an init container of another user, which ends before the observer starts',
    { containers: [SEVEN], initContainers: [EIGHT] },
  ],
]

t.test('with a target command, the counters are predicted for all containers', async (t) => {
  for (const [counters, name, spec] of CONTAINERS) {
    const status = ride(askingPod(spec, { 'ridealong.dev/target-command': 'lmp' })).status
    t.equal(status?.counters, counters, name)
  }
  const other = ride(askingPod({ containers: [SEVEN, EIGHT] }))
  t.equal(other.status?.counters, 'all', 'without a command, only the target is considered')
})

const OTHER_GROUP = { runAsUser: 0, runAsGroup: 7, capabilities: { drop: ['ALL'] } }

const TRACER = adding(ROOT, 'SYS_PTRACE')

/** The counters, a description, and the security contexts of the observer, target and pod. */
const OWN_CONTEXTS: [string, string, Json, (Json | undefined)?, Json?][] = [
  ['all', 'root with SYS_PTRACE, target with the user of its image', TRACER],
  ['all', 'root with SYS_PTRACE, privileged target', TRACER, { privileged: true }],
  ['all', 'privileged root', { ...ROOT, privileged: true }, adding(ROOT, 'SYS_PTRACE')],
  ['all', 'root, target of a user', ROOT, USER],
  ['all', 'root, target with runAsNonRoot', ROOT, { runAsNonRoot: true }],
  ['all', 'root, target of root', ROOT, ROOT],
  ['no-io', 'root without capabilities, target of a user', dropping(ROOT, 'ALL'), USER],
  ['no-io', 'root without capabilities, target of root with some', dropping(ROOT, 'ALL'), ROOT],
  ['no-io', 'root without a default capability', dropping(ROOT, 'KILL'), ROOT],
  ['unknown', 'root without a default capability of some runtimes', dropping(ROOT, 'MKNOD'), ROOT],
  ['no-io', 'root without SETGID, target of another group', dropping(ROOT, 'ALL'), OTHER_GROUP],
  [
    'no-io',
    'root with only SYS_PTRACE, which cannot open files of a user',
    { ...ROOT, capabilities: { add: ['SYS_PTRACE'], drop: ['ALL'] } },
    USER,
  ],
  [
    'no-io',
    'a user with SYS_PTRACE, target of another user',
    adding({ runAsUser: 7 }, 'SYS_PTRACE'),
    USER,
  ],
  [
    'no-io',
    'a user, target of the same user and another group',
    { runAsUser: 1000, runAsGroup: 7 },
    USER,
  ],
  ['no-io', 'a user without a group, target of another user', { runAsUser: 7 }, USER],
  ['unknown', 'a user, target with the user of its image', USER],
  ['all', 'a user, target of the same user', USER, USER],
  ['all', 'no user, target without a user, in a pod with a user', {}, undefined, USER],
]

t.test(
  'the counters of a metric with its own security context depend on this context',
  async (t) => {
    for (const [counters, name, own, target, podLevel] of OWN_CONTEXTS) {
      t.equal(countersWith(own, target, podLevel), counters, `observer as ${name}`)
    }
  },
)

t.test('the counters are unknown if two observers can read different counters', async (t) => {
  const { spec } = metricDocument('own')
  const container = { ...spec.container, securityContext: { runAsUser: 7, runAsGroup: 7 } }
  const documents = [metricDocument('own', { container }), metricDocument('perf-sysstat')]
  const catalog = buildCatalog(documents, 'r')
  const counters = (inject: string) =>
    ride(podOf({ 'ridealong.dev/inject': inject }, { securityContext: USER }), { catalog }).status
      ?.counters
  t.equal(counters('perf-sysstat'), 'all')
  t.equal(counters('own'), 'no-io')
  t.equal(counters('perf-sysstat,own'), 'unknown')
})

t.test(
  'the counters are no-io if a list has more capability names than capabilities exist',
  async (t) => {
    const names = Array.from({ length: 66 }, (_, i) => 'X'.repeat(i % 22) + 'Y'.repeat(1 + (i % 3)))
    t.equal(countersOf(dropping(ROOT, ...names.slice(1))), 'all')
    t.equal(countersOf(dropping(ROOT, ...names)), 'no-io', 'the target may have more capabilities')
    const spelled = [...spellings('FOWNER'), ...spellings('KILL'), 'SYS_ADMIN']
    t.equal(
      countersOf(adding(ROOT, ...spelled)),
      'no-io',
      'baseline may forbid a name that is not read',
    )
  },
)

/** Returns every spelling of a word in upper and lower case. */
function spellings(word: string): readonly string[] {
  const [first = '', ...rest] = word
  if (word === '') return ['']
  return spellings(rest.join('')).flatMap((end) => [first + end, first.toLowerCase() + end])
}

function adding(context: Json, ...add: readonly string[]): Json {
  return { ...context, capabilities: { add } }
}

function dropping(context: Json, ...drop: readonly string[]): Json {
  return { ...context, capabilities: { drop } }
}
