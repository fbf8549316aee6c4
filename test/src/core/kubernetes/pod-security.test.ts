import t from 'tap'
import { podSecurityProblem } from '../../../../src/core/kubernetes/pod-security.ts'
import { askingPod, type Json, perfOf, ride } from '../build.ts'

/** The least that the level restricted requires (pod-security-admission v0.36, package policy). */
const RESTRICTED: Json = {
  runAsNonRoot: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}
const HOST = { hostUsers: true }

const refuses = (level: 'privileged' | 'baseline' | 'restricted', context: Json, pod = HOST) =>
  podSecurityProblem(level, context, pod)

t.test('privileged refuses nothing', async (t) => {
  for (const context of [
    {},
    { privileged: true },
    { capabilities: { add: ['ALL'] } },
    { seccompProfile: { type: 'Unconfined' }, appArmorProfile: { type: 'Unconfined' } },
  ]) {
    t.equal(refuses('privileged', context), undefined, JSON.stringify(context))
  }
})

t.test('baseline refuses what gives power over the node', async (t) => {
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

t.test('restricted takes only what gives nothing up', async (t) => {
  const rows: [string | undefined, string, Json][] = [
    [undefined, 'as little as it takes', {}],
    [undefined, 'a user', { runAsUser: 1000 }],
    [undefined, 'a profile of the node', { seccompProfile: { type: 'Localhost' } }],
    [
      undefined,
      'the one capability',
      { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } },
    ],
    [undefined, 'ALL among others', { capabilities: { drop: ['NET_RAW', 'ALL'] } }],
    ['root', 'root by its number', { runAsUser: 0 }],
    ['root', 'runAsNonRoot is false', { runAsNonRoot: false }],
    ['root', 'runAsNonRoot is absent', { runAsNonRoot: undefined }],
    ['root', 'and a user alone is not enough', { runAsNonRoot: undefined, runAsUser: 1000 }],
    ['allowPrivilegeEscalation', 'escalation', { allowPrivilegeEscalation: true }],
    ['allowPrivilegeEscalation', 'no word on it', { allowPrivilegeEscalation: undefined }],
    ['capabilities', 'some are dropped', { capabilities: { drop: ['NET_RAW'] } }],
    ['capabilities', 'all in small letters', { capabilities: { drop: ['all'] } }],
    ['capabilities', 'none are dropped', { capabilities: undefined }],
    ['CHOWN', 'one that baseline takes', { capabilities: { drop: ['ALL'], add: ['CHOWN'] } }],
    ['seccomp', 'no profile', { seccompProfile: undefined }],
    ['seccomp', 'a profile of no type', { seccompProfile: {} }],
    ['seccomp', 'Unconfined', { seccompProfile: { type: 'Unconfined' } }],
    ['privileged', 'what baseline refuses', { privileged: true }],
    ['AppArmor', 'that too', { appArmorProfile: { type: 'Unconfined' } }],
  ]
  for (const [problem, name, more] of rows) {
    const found = refuses('restricted', { ...RESTRICTED, ...more })
    if (problem === undefined) t.equal(found, undefined, name)
    else t.match(found, problem, name)
  }
})

t.test('in a user namespace of its own a pod may be root, and nothing else', async (t) => {
  const own = { hostUsers: false }
  const root = { ...RESTRICTED, runAsNonRoot: false, runAsUser: 0 }
  t.equal(refuses('restricted', root, own), undefined)
  t.equal(refuses('restricted', { ...RESTRICTED, runAsNonRoot: undefined }, own), undefined)
  t.match(refuses('restricted', root), 'root')
  t.match(refuses('restricted', { ...root, capabilities: {} }, own), 'capabilities')
  t.match(refuses('restricted', { ...root, seccompProfile: {} }, own), 'seccomp')
  t.match(refuses('restricted', { ...root, allowPrivilegeEscalation: true }, own), 'allowPriv')
  t.match(refuses('baseline', { privileged: true }, own), 'privileged')
})

t.test(
  'where the containers of a pod are restricted, so is the observer, label or none',
  async (t) => {
    const { runAsNonRoot, seccompProfile, ...ofContainer } = RESTRICTED
    const capabilities = { drop: ['ALL'], add: ['NET_BIND_SERVICE'] }
    const rows: [string, Json, Json][] = [
      ['all of it in the container', {}, RESTRICTED],
      ['what can be in the pod', { runAsNonRoot, seccompProfile }, ofContainer],
      ['a user in the pod', { runAsNonRoot, seccompProfile, runAsUser: 1000 }, ofContainer],
      ['a user in the container', {}, { ...RESTRICTED, runAsUser: 1000, runAsGroup: 0 }],
      ['the one capability', {}, { ...RESTRICTED, capabilities }],
      ['the one capability, and a user', {}, { ...RESTRICTED, capabilities, runAsUser: 1000 }],
      ['a profile of the node', {}, { ...RESTRICTED, seccompProfile: { type: 'Localhost' } }],
    ]
    for (const [name, securityContext, container] of rows) {
      const containers = [{ name: 'app', image: 'a', securityContext: container }]
      const pod = askingPod({ securityContext, containers })
      for (const enforce of ['privileged', 'restricted']) {
        const labels = { 'pod-security.kubernetes.io/enforce': enforce }
        const observer = perfOf(ride(pod, { labels })).securityContext ?? {}
        t.equal(refuses('restricted', observer), undefined, `${name}, ${enforce}`)
      }
    }
    const root = { ...ofContainer, seccompProfile, runAsUser: 0 }
    const containers = [{ name: 'app', image: 'a', securityContext: root }]
    const own = perfOf(ride(askingPod({ hostUsers: false, containers }))).securityContext ?? {}
    t.equal(refuses('restricted', own, { hostUsers: false }), undefined, 'root of its own users')
  },
)
