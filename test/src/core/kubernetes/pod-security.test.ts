import t from 'tap'
import {
  allowsRoot,
  podSecurityProblem,
  readEnforceVersion,
} from '../../../../src/core/kubernetes/pod-security.ts'
import { askingPod, type Json, perfOf, ride } from '../build.ts'

/** The fields that the level restricted requires (pod-security-admission v0.36, package policy). */
const RESTRICTED: Json = {
  runAsNonRoot: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}

/** Returns the problem of a security context at a level; undefined if the level allows it. */
const refuses = (level: 'privileged' | 'baseline' | 'restricted', context: Json, root = false) =>
  podSecurityProblem(level, context, root)

t.test('the level privileged allows every security context', async (t) => {
  for (const context of [
    {},
    { privileged: true },
    { capabilities: { add: ['ALL'] } },
    { seccompProfile: { type: 'Unconfined' }, appArmorProfile: { type: 'Unconfined' } },
  ]) {
    t.equal(refuses('privileged', context), undefined, JSON.stringify(context))
  }
})

t.test('the level baseline forbids fields that give access to the node', async (t) => {
  const rows: [string | undefined, Json][] = [
    [undefined, {}],
    [undefined, RESTRICTED],
    [undefined, { runAsUser: 0 }],
    [undefined, { privileged: false }],
    [undefined, { allowPrivilegeEscalation: true }],
    [undefined, { capabilities: { add: ['CHOWN', 'NET_BIND_SERVICE', 'SYS_CHROOT'] } }],
    [undefined, { seccompProfile: { type: 'RuntimeDefault' } }],
    [undefined, { seccompProfile: { type: 'Localhost', localhostProfile: 'a' } }],
    [undefined, { appArmorProfile: { type: 'RuntimeDefault' } }],
    [undefined, { appArmorProfile: { type: 'Localhost', localhostProfile: 'a' } }],
    ['privileged', { privileged: true }],
    ['SYS_PTRACE', { capabilities: { add: ['SYS_PTRACE'] } }],
    ['NET_RAW', { capabilities: { add: ['CHOWN', 'NET_RAW'] } }],
    ['ALL', { capabilities: { add: ['ALL'] } }],
    ['CAP_CHOWN', { capabilities: { add: ['CAP_CHOWN'] } }],
    ['SYS_ADMIN', { capabilities: { add: ['SYS_ADMIN'], drop: ['ALL'] } }],
    ['seccomp', { seccompProfile: { type: 'Unconfined' } }],
    ['AppArmor', { appArmorProfile: { type: 'Unconfined' } }],
  ]
  for (const [problem, context] of rows) {
    const found = refuses('baseline', context)
    const name = JSON.stringify(context)
    if (problem === undefined) t.equal(found, undefined, name)
    else t.match(found, problem, name)
  }
})

/** The problem of each container on the level restricted, or undefined if it is allowed. */
const ON_RESTRICTED: readonly [string | undefined, string, Json][] = [
  [undefined, 'only the required fields', {}],
  [undefined, 'a user other than root', { runAsUser: 1000 }],
  [undefined, 'a seccomp profile of the node', { seccompProfile: { type: 'Localhost' } }],
  [
    undefined,
    'the added capability NET_BIND_SERVICE',
    { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } },
  ],
  [undefined, 'ALL among the dropped capabilities', { capabilities: { drop: ['NET_RAW', 'ALL'] } }],
  ['root', 'runAsUser is 0', { runAsUser: 0 }],
  ['root', 'runAsNonRoot is false', { runAsNonRoot: false }],
  ['root', 'runAsNonRoot is absent', { runAsNonRoot: undefined }],
  ['root', 'runAsUser without runAsNonRoot', { runAsNonRoot: undefined, runAsUser: 1000 }],
  [
    'allowPrivilegeEscalation',
    'allowPrivilegeEscalation is true',
    { allowPrivilegeEscalation: true },
  ],
  [
    'allowPrivilegeEscalation',
    'allowPrivilegeEscalation is absent',
    { allowPrivilegeEscalation: undefined },
  ],
  ['capabilities', 'only some capabilities are dropped', { capabilities: { drop: ['NET_RAW'] } }],
  [
    'capabilities',
    'the dropped capability ALL is in lower case',
    { capabilities: { drop: ['all'] } },
  ],
  ['capabilities', 'no capabilities are dropped', { capabilities: undefined }],
  [
    'CHOWN',
    'an added capability that only baseline allows',
    { capabilities: { drop: ['ALL'], add: ['CHOWN'] } },
  ],
  ['seccomp', 'no seccomp profile', { seccompProfile: undefined }],
  ['seccomp', 'a seccomp profile without a type', { seccompProfile: {} }],
  ['seccomp', 'the seccomp profile Unconfined', { seccompProfile: { type: 'Unconfined' } }],
  ['privileged', 'privileged, which baseline forbids', { privileged: true }],
  [
    'AppArmor',
    'an unconfined AppArmor profile, which baseline forbids',
    { appArmorProfile: { type: 'Unconfined' } },
  ],
]

t.test(
  'the level restricted allows only containers that meet all of its requirements',
  async (t) => {
    for (const [problem, name, more] of ON_RESTRICTED) {
      const found = refuses('restricted', { ...RESTRICTED, ...more })
      if (problem === undefined) t.equal(found, undefined, `allowed: ${name}`)
      else t.match(found, problem, `forbidden: ${name}`)
    }
  },
)

t.test(
  'in a separate user namespace, a container may be root but needs all other fields',
  async (t) => {
    const root = { ...RESTRICTED, runAsNonRoot: false, runAsUser: 0 }
    t.equal(refuses('restricted', root, true), undefined)
    t.equal(refuses('restricted', { ...RESTRICTED, runAsNonRoot: undefined }, true), undefined)
    t.match(refuses('restricted', root), 'root')
    t.match(refuses('restricted', { ...root, capabilities: {} }, true), 'capabilities')
    t.match(refuses('restricted', { ...root, seccompProfile: {} }, true), 'seccomp')
    t.match(refuses('restricted', { ...root, allowPrivilegeEscalation: true }, true), 'allowPriv')
    t.match(refuses('baseline', { privileged: true }, true), 'privileged')
  },
)

t.test('root needs a separate user namespace, and the rules of 1.35 or later', async (t) => {
  const rows: [boolean, boolean, number | undefined, number | undefined][] = [
    [true, false, undefined, 36],
    [true, false, undefined, 35],
    [true, false, 35, 36],
    [true, false, 40, 36],
    [false, true, undefined, 36],
    [false, false, undefined, 34],
    [false, false, undefined, 30],
    [false, false, undefined, undefined],
    [false, false, 34, 36],
    [false, false, 0, 36],
    [false, false, 35, 30],
    [false, false, 35, undefined],
  ]
  for (const [isAllowed, hostUsers, enforceVersion, apiserverVersion] of rows) {
    const versions = { enforceVersion, apiserverVersion }
    const found = allowsRoot({ hostUsers }, versions)
    t.equal(found, isAllowed, JSON.stringify({ hostUsers, ...versions }))
  }
})

t.test('an invalid version of the rules counts as latest', async (t) => {
  const rows: [number | undefined, unknown][] = [
    [30, 'v1.30'],
    [0, 'v1.0'],
    [undefined, 'latest'],
    [undefined, undefined],
    [undefined, ''],
    [undefined, 'v1.030'],
    [undefined, '1.30'],
    [undefined, 'v1.30.1'],
    [undefined, 'v2.30'],
    [undefined, ['v1.30']],
  ]
  for (const [version, label] of rows)
    t.equal(readEnforceVersion(label), version, JSON.stringify(label))
})

t.test(
  'the observer of a restricted pod is restricted, whatever level the namespace enforces',
  async (t) => {
    const { runAsNonRoot, seccompProfile, ...ofContainer } = RESTRICTED
    const capabilities = { drop: ['ALL'], add: ['NET_BIND_SERVICE'] }
    const rows: [string, Json, Json][] = [
      ['all fields in the container', {}, RESTRICTED],
      ['some fields in the pod', { runAsNonRoot, seccompProfile }, ofContainer],
      ['a user in the pod', { runAsNonRoot, seccompProfile, runAsUser: 1000 }, ofContainer],
      ['a user in the container', {}, { ...RESTRICTED, runAsUser: 1000, runAsGroup: 0 }],
      ['the added capability NET_BIND_SERVICE', {}, { ...RESTRICTED, capabilities }],
      [
        'the added capability NET_BIND_SERVICE, and a user',
        {},
        { ...RESTRICTED, capabilities, runAsUser: 1000 },
      ],
      [
        'a seccomp profile of the node',
        {},
        { ...RESTRICTED, seccompProfile: { type: 'Localhost' } },
      ],
    ]
    for (const [name, securityContext, container] of rows) {
      const containers = [{ name: 'app', image: 'a', securityContext: container }]
      const pod = askingPod({ securityContext, containers })
      for (const enforce of ['privileged', 'restricted']) {
        const labels = { 'pod-security.kubernetes.io/enforce': enforce }
        const observer = perfOf(ride(pod, { labels })).securityContext ?? {}
        t.equal(
          refuses('restricted', observer),
          undefined,
          `the pod has ${name}, and the namespace enforces ${enforce}`,
        )
      }
    }
    const root = { ...ofContainer, seccompProfile, runAsUser: 0 }
    const containers = [{ name: 'app', image: 'a', securityContext: root }]
    const own = perfOf(ride(askingPod({ hostUsers: false, containers }))).securityContext ?? {}
    t.equal(
      refuses('restricted', own, true),
      undefined,
      'a pod in a separate user namespace runs as root',
    )
  },
)
