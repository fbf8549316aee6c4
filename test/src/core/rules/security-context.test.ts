import t from 'tap'
import { buildCatalog } from '../../../../src/core/catalog.ts'
import { askingPod, type Json, metricDocument, perfOf, podOf, ride } from '../build.ts'

/**
 * Returns a pod that requests perf-sysstat, with these security contexts of its container and of
 * the pod.
 */
const pod = (container: Json | undefined, podLevel?: Json, spec: Json = {}) =>
  askingPod({
    securityContext: podLevel,
    containers: [{ name: 'app', image: 'app', securityContext: container }],
    ...spec,
  })

const contextOf = (object: Json) => perfOf(ride(object)).securityContext ?? {}

const ALWAYS = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  seccompProfile: { type: 'RuntimeDefault' },
}
const NON_ROOT = { ...ALWAYS, runAsNonRoot: true, capabilities: { drop: ['ALL'] } }

/** The security contexts of the target and of its pod, and the context of the observer. */
const CONTEXTS: readonly [string, Json | undefined, Json | undefined, Json][] = [
  [
    'user and group of the container',
    { runAsUser: 1000, runAsGroup: 2000 },
    undefined,
    { ...NON_ROOT, runAsUser: 1000, runAsGroup: 2000 },
  ],
  [
    'user and group of the pod',
    undefined,
    { runAsUser: 1000, runAsGroup: 2000 },
    { ...NON_ROOT, runAsUser: 1000, runAsGroup: 2000 },
  ],
  [
    'user and group of the container, which override those of the pod',
    { runAsUser: 1001, runAsGroup: 2001 },
    { runAsUser: 1000, runAsGroup: 2000 },
    { ...NON_ROOT, runAsUser: 1001, runAsGroup: 2001 },
  ],
  [
    "the container's user with the pod's group",
    { runAsUser: 1001 },
    { runAsUser: 1000, runAsGroup: 2000 },
    { ...NON_ROOT, runAsUser: 1001, runAsGroup: 2000 },
  ],
  [
    "the pod's user with the container's group 0",
    { runAsGroup: 0 },
    { runAsUser: 1000, runAsGroup: 2000 },
    { ...NON_ROOT, runAsUser: 1000, runAsGroup: 0 },
  ],
  ['a user without a group', { runAsUser: 1000 }, undefined, { ...NON_ROOT, runAsUser: 1000 }],
  [
    'a user with runAsNonRoot',
    { runAsUser: 1000, runAsNonRoot: true },
    undefined,
    { ...NON_ROOT, runAsUser: 1000 },
  ],
  [
    'a user other than root that is allowed to be root',
    { runAsUser: 1000, runAsNonRoot: false },
    undefined,
    { ...NON_ROOT, runAsUser: 1000 },
  ],
  [
    "the pod's user where the container is allowed to be root",
    { runAsNonRoot: false },
    { runAsUser: 1000, runAsNonRoot: true },
    { ...NON_ROOT, runAsUser: 1000 },
  ],
  ['user 0 of the container', { runAsUser: 0 }, undefined, { ...ALWAYS, runAsUser: 0 }],
  [
    'root with a group, in a pod of another user',
    { runAsUser: 0, runAsGroup: 0 },
    { runAsUser: 1000, runAsGroup: 1000 },
    { ...ALWAYS, runAsUser: 0, runAsGroup: 0 },
  ],
  ['user 0 of the pod', undefined, { runAsUser: 0 }, { ...ALWAYS, runAsUser: 0 }],
  ['a user that only the image sets', undefined, undefined, ALWAYS],
  ['an empty security context', {}, {}, ALWAYS],
  ['only a group', { runAsGroup: 2000 }, undefined, { ...ALWAYS, runAsGroup: 2000 }],
]

t.test('an observer has the user and group of its target', async (t) => {
  for (const [name, container, podLevel, expected] of CONTEXTS) {
    t.strictSame(contextOf(pod(container, podLevel)), expected, name)
  }
})

t.test('an observer has the user 65532 if its target has runAsNonRoot but no user', async (t) => {
  const rows: [string, Json | undefined, Json | undefined][] = [
    ['runAsNonRoot of the container', { runAsNonRoot: true }, undefined],
    ['runAsNonRoot of the pod', undefined, { runAsNonRoot: true }],
    ['the container overrides the pod', { runAsNonRoot: true }, { runAsNonRoot: false }],
  ]
  for (const [name, container, podLevel] of rows) {
    const context = contextOf(pod(container, podLevel))
    t.strictSame(context, { ...NON_ROOT, runAsUser: 65532 }, name)
  }
  const grouped = contextOf(pod({ runAsNonRoot: true, runAsGroup: 100 }))
  t.strictSame(
    grouped,
    { ...NON_ROOT, runAsUser: 65532, runAsGroup: 100 },
    'the observer has the group of the target',
  )
})

t.test(
  'runAsNonRoot: false of a target overrides the runAsNonRoot of the pod for its observer',
  async (t) => {
    const forbidding = { runAsNonRoot: true }
    t.strictSame(contextOf(pod({ runAsNonRoot: false }, forbidding)), {
      ...ALWAYS,
      runAsNonRoot: false,
    })
    t.strictSame(contextOf(pod({ runAsNonRoot: false, runAsUser: 0 }, forbidding)), {
      ...ALWAYS,
      runAsUser: 0,
      runAsNonRoot: false,
    })
  },
)

t.test(
  'a root observer adds and drops the capabilities of its target if baseline allows them',
  async (t) => {
    const rows: [string, Json, Json | undefined][] = [
      ['changes no capability', {}, undefined],
      ['drops all capabilities', { drop: ['ALL'] }, { drop: ['ALL'] }],
      ['drops some capabilities', { drop: ['NET_RAW', 'MKNOD'] }, { drop: ['NET_RAW', 'MKNOD'] }],
      [
        'drops all capabilities and adds one that baseline allows',
        { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
        { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
      ],
      ['adds a capability that baseline forbids', { add: ['SYS_PTRACE'] }, undefined],
      ['adds all capabilities', { add: ['ALL'] }, undefined],
      [
        'adds capabilities that baseline allows and others that it forbids',
        { add: ['SYS_ADMIN', 'CHOWN', 'NET_RAW'] },
        { add: ['CHOWN'] },
      ],
    ]
    for (const [name, capabilities, expected] of rows) {
      const context = contextOf(pod({ runAsUser: 0, capabilities }))
      t.strictSame(context.capabilities, expected, `the target ${name}`)
    }
    t.strictSame(
      contextOf(pod({ runAsUser: 0, privileged: true, allowPrivilegeEscalation: true })),
      { ...ALWAYS, runAsUser: 0 },
      'the target is privileged',
    )
  },
)

t.test(
  'if no user is set, an observer inherits only dropped capabilities, group and runAsNonRoot',
  async (t) => {
    const rows: [string, Json, Json | undefined, Json][] = [
      [
        'dropped capabilities',
        { capabilities: { drop: ['NET_RAW', 'MKNOD'] } },
        undefined,
        { capabilities: { drop: ['NET_RAW', 'MKNOD'] } },
      ],
      [
        'added capabilities that baseline allows',
        { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE', 'CHOWN'] } },
        undefined,
        { capabilities: { drop: ['ALL'] } },
      ],
      [
        'an added capability that baseline forbids',
        { capabilities: { add: ['SYS_PTRACE'] } },
        undefined,
        {},
      ],
      ['privileged: true', { privileged: true, allowPrivilegeEscalation: true }, undefined, {}],
      [
        'unconfined profiles',
        { seccompProfile: { type: 'Unconfined' }, appArmorProfile: { type: 'Unconfined' } },
        { seccompProfile: { type: 'Unconfined' } },
        {},
      ],
      ['the group of the pod', {}, { runAsGroup: 5678 }, { runAsGroup: 5678 }],
      ['runAsNonRoot: false', { runAsNonRoot: false }, undefined, { runAsNonRoot: false }],
    ]
    for (const [name, container, podLevel, expected] of rows) {
      t.strictSame(
        contextOf(pod(container, podLevel)),
        { ...ALWAYS, ...expected },
        `the target has ${name}`,
      )
    }
    const baseline = { labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } }
    for (const [name, container, podLevel] of rows) {
      t.equal(
        ride(pod(container, podLevel), baseline).word,
        'injected',
        `baseline allows the observer if the target has ${name}`,
      )
    }
  },
)

t.test('an observer that is not root drops all capabilities', async (t) => {
  const targets = [
    { add: ['SYS_ADMIN'] },
    { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
    { drop: ['NET_RAW'] },
  ]
  for (const capabilities of targets) {
    const context = contextOf(pod({ runAsUser: 1000, capabilities }))
    t.strictSame(context.capabilities, { drop: ['ALL'] }, JSON.stringify(capabilities))
  }
})

t.test(
  'a root observer adds each added capability of its target that baseline allows',
  async (t) => {
    // pod-security-admission policy/check_capabilities_baseline.go
    const allowed = [
      'AUDIT_WRITE',
      'CHOWN',
      'DAC_OVERRIDE',
      'FOWNER',
      'FSETID',
      'KILL',
      'MKNOD',
      'NET_BIND_SERVICE',
      'SETFCAP',
      'SETGID',
      'SETPCAP',
      'SETUID',
      'SYS_CHROOT',
    ]
    const context = contextOf(pod({ runAsUser: 0, capabilities: { add: allowed } }))
    t.strictSame(context.capabilities, { add: allowed })
  },
)

t.test('invalid values of runAsUser, runAsGroup and runAsNonRoot are ignored', async (t) => {
  for (const nonsense of [-1, 1.5, '1000', null, true, 2 ** 60, {}, []]) {
    const context = { runAsUser: nonsense, runAsGroup: nonsense, runAsNonRoot: 'yes' }
    t.strictSame(contextOf(pod(context, context)), ALWAYS, JSON.stringify(nonsense))
  }
})

t.test(
  'an observer with a security context in the catalog derives no field from the target',
  async (t) => {
    const place = { labels: { 'ridealong.dev/privilege': 'privileged' } }
    const rideWith = (securityContext: Json) =>
      ride(podOf({ 'ridealong.dev/inject': 'trace-stat' }, { securityContext }), place)
    const traced = rideWith({ runAsUser: 1000, runAsGroup: 1000 })
    t.strictSame(traced.observers['trace-stat']?.securityContext, {
      runAsNonRoot: false,
      runAsUser: 0,
      runAsGroup: 0,
      capabilities: { add: ['SYS_PTRACE'] },
    })
    t.strictSame(
      rideWith({ runAsNonRoot: true }).observers['trace-stat']?.securityContext?.runAsNonRoot,
      false,
      "the pod's runAsNonRoot does not prevent the start of the observer",
    )
  },
)

t.test(
  'runAsNonRoot of an observer with a security context in the catalog agrees with its user',
  async (t) => {
    const nonRoot = { runAsNonRoot: true }
    const rows: [string, Json, Json | undefined, Json][] = [
      ['root', { runAsUser: 0 }, nonRoot, { runAsNonRoot: false, runAsUser: 0 }],
      ['a user other than root', { runAsUser: 7 }, undefined, { runAsNonRoot: true, runAsUser: 7 }],
      ['a user that only the image sets', {}, nonRoot, { runAsNonRoot: false }],
      ['a user that the pod sets', {}, { runAsUser: 1000 }, { runAsNonRoot: true }],
      ['root, which the pod sets', {}, { runAsUser: 0 }, { runAsNonRoot: false }],
      [
        'root, in a pod with another user',
        { runAsUser: 0 },
        { runAsUser: 1000 },
        { runAsNonRoot: false, runAsUser: 0 },
      ],
      [
        'not set, and the catalog sets runAsNonRoot',
        { runAsNonRoot: true },
        undefined,
        { runAsNonRoot: true },
      ],
    ]
    for (const [name, securityContext, podLevel, expected] of rows) {
      const spec = metricDocument('own').spec
      const container = { ...spec.container, securityContext }
      const catalog = buildCatalog([metricDocument('own', { container })], 'r')
      const asking = podOf({ 'ridealong.dev/inject': 'own' }, { securityContext: podLevel })
      t.strictSame(
        ride(asking, { catalog }).observers.own?.securityContext,
        expected,
        `user: ${name}`,
      )
    }
  },
)

t.test(
  'an observer drops ALL if its target drops more names than capabilities exist',
  async (t) => {
    const names = Array.from({ length: 66 }, (_, i) => 'X'.repeat(i % 22) + 'Y'.repeat(1 + (i % 3)))
    const dropping = (drop: readonly string[]) =>
      ride(pod({ runAsUser: 0, runAsGroup: 0, capabilities: { drop } }))
    const few = dropping(names.slice(1, 66))
    t.strictSame(perfOf(few).securityContext?.capabilities, { drop: names.slice(1, 66) })
    const many = dropping(names)
    t.strictSame(perfOf(many).securityContext?.capabilities, { drop: ['ALL'] })
  },
)
