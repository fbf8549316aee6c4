import t from 'tap'
import {
  MAX_CAPABILITIES,
  type Pod,
  readPod,
  readSecurityContext,
} from '../../../../src/core/kubernetes/pod.ts'
import { isAlwaysRestarted } from '../../../../src/core/kubernetes/restart-policy.ts'
import type { Json } from '../build.ts'

const read = (spec: Json = {}, metadata: Json = {}): Pod => {
  const pod = readPod({ metadata, spec: { containers: [{ name: 'app' }], ...spec } })
  if ('problem' in pod) throw new Error(pod.problem)
  return pod
}

const NO_CONTEXT = {
  runAsUser: undefined,
  runAsGroup: undefined,
  runAsNonRoot: undefined,
  privileged: false,
  addedCapabilities: [],
  droppedCapabilities: [],
  appArmor: undefined,
  seLinux: undefined,
}
const APP = {
  name: 'app',
  restartPolicy: undefined,
  hasRestartRules: false,
  requests: {},
  limits: {},
  securityContext: NO_CONTEXT,
}

t.test('missing fields of a pod have the defaults of Kubernetes', async (t) => {
  t.match(read(), {
    name: '',
    annotations: undefined,
    labels: {},
    owner: undefined,
    hostNetwork: false,
    hostPID: false,
    hostUsers: true,
    isWindows: false,
    shareProcessNamespace: 'absent',
    automountServiceAccountToken: true,
    restartPolicy: 'Always',
    hasVolumes: false,
    hasInitContainers: false,
    hasResources: false,
    initContainers: [],
  })
  t.strictSame(read().containers, [APP])
  t.strictSame(read().securityContext, NO_CONTEXT)
})

const CONTEXT = {
  runAsUser: 1000,
  runAsGroup: 0,
  runAsNonRoot: true,
  privileged: true,
  appArmorProfile: { type: 'RuntimeDefault' },
  seLinuxOptions: { level: 's0:c1,c2', type: 'hpc_t' },
  capabilities: { add: ['CHOWN'], drop: ['ALL'] },
}

const SPEC = {
  hostNetwork: true,
  hostPID: true,
  hostUsers: false,
  os: { name: 'windows' },
  shareProcessNamespace: false,
  automountServiceAccountToken: false,
  restartPolicy: 'Never',
  volumes: [],
  resources: { limits: { cpu: '1' } },
  securityContext: { runAsUser: 7 },
  initContainers: [
    { name: 'setup' },
    { name: 'proxy', restartPolicy: 'Always' },
    { name: 'once', restartPolicy: 'Never' },
  ],
  containers: [
    {
      name: 'lammps',
      resources: { requests: { cpu: '1' }, limits: { memory: '1Gi' } },
      securityContext: CONTEXT,
    },
    { name: 'other', restartPolicy: 'OnFailure' },
  ],
}

t.test('each field of a pod that Ridealong uses is read', async (t) => {
  const pod = read(SPEC, { name: 'lammps-0', annotations: { a: 'b' }, labels: { c: 'd' } })
  t.match(pod, {
    name: 'lammps-0',
    annotations: { a: 'b' },
    labels: { c: 'd' },
    hostNetwork: true,
    hostPID: true,
    hostUsers: false,
    isWindows: true,
    shareProcessNamespace: 'false',
    automountServiceAccountToken: false,
    restartPolicy: 'Never',
    hasVolumes: true,
    hasInitContainers: true,
    hasResources: true,
    securityContext: { runAsUser: 7 },
  })
})

t.test('each field of a container that Ridealong uses is read', async (t) => {
  const pod = read(SPEC)
  t.strictSame(
    pod.initContainers.map((container) => [container.name, isAlwaysRestarted(container)]),
    [
      ['setup', false],
      ['proxy', true],
      ['once', false],
    ],
    'only Always defines a native sidecar',
  )
  t.strictSame(pod.containers, [
    {
      ...APP,
      name: 'lammps',
      requests: { cpu: '1' },
      limits: { memory: '1Gi' },
      securityContext: {
        runAsUser: 1000,
        runAsGroup: 0,
        runAsNonRoot: true,
        privileged: true,
        addedCapabilities: ['CHOWN'],
        droppedCapabilities: ['ALL'],
        appArmor: 'RuntimeDefault',
        seLinux: '  hpc_t s0:c1,c2',
      },
    },
    { ...APP, name: 'other', restartPolicy: 'OnFailure' },
  ])
})

t.test('the name of a pod is metadata.name, otherwise metadata.generateName', async (t) => {
  t.equal(read({}, { name: 'lammps-0', generateName: 'lammps-' }).name, 'lammps-0')
  t.equal(read({}, { generateName: 'lammps-' }).name, 'lammps-')
  t.equal(read({}, { name: '', generateName: 'lammps-' }).name, 'lammps-')
  t.equal(read({}, { name: 7 }).name, '')
})

t.test('the owner of a pod is its controller', async (t) => {
  const job = { kind: 'Job', name: 'lammps', controller: true }
  const config = { kind: 'ConfigMap', name: 'c', controller: false }
  t.strictSame(read({}, { ownerReferences: [config, job] }).owner, { kind: 'Job', name: 'lammps' })
  t.equal(read({}, { ownerReferences: [config] }).owner, undefined)
  t.equal(read({}, { ownerReferences: [] }).owner, undefined)
})

t.test('a field of a wrong type counts as missing', async (t) => {
  const nothing = read()
  const wrong: Json[] = [
    { hostNetwork: 'true' },
    { hostPID: 'true' },
    { hostPID: 1 },
    { hostUsers: null },
    { hostUsers: 'false' },
    { shareProcessNamespace: 'true' },
    { shareProcessNamespace: null },
    { shareProcessNamespace: 0 },
    { automountServiceAccountToken: null },
    { automountServiceAccountToken: 'false' },
    { restartPolicy: null },
    { restartPolicy: ['Never'] },
    { os: 'windows' },
    { os: { name: ['windows'] } },
    { os: null },
    { nodeSelector: 'windows' },
    { nodeSelector: { 'kubernetes.io/os': 7 } },
    { resources: null },
    { resources: [] },
    { resources: {} },
    { resources: { limits: 'cpu' } },
    { securityContext: 'root' },
    { securityContext: [] },
    { initContainers: null },
    { volumes: null },
    { containers: [{ name: 'app', resources: null, securityContext: null }] },
    { containers: [{ name: 'app', resources: { limits: [], requests: 'x' } }] },
    { containers: [{ name: 'app', securityContext: { capabilities: ['ALL'] } }] },
    { containers: [{ name: 'app', securityContext: { capabilities: { add: 'ALL', drop: {} } } }] },
  ]
  for (const spec of wrong) {
    t.strictSame({ ...read(spec), spec: nothing.spec }, nothing, JSON.stringify(spec))
  }
})

t.test('the problem of an invalid pod names the field', async (t) => {
  const containers = [{ name: 'app' }]
  const rows: [string, unknown][] = [
    ['metadata', { spec: { containers } }],
    ['spec', { metadata: {} }],
    ['spec.initContainers', { metadata: {}, spec: { containers, initContainers: {} } }],
    ['spec.containers', { metadata: {}, spec: { containers: {} } }],
    ['metadata.annotations', { metadata: { annotations: 7 }, spec: { containers } }],
    ['spec.volumes', { metadata: {}, spec: { containers, volumes: 'x' } }],
  ]
  for (const [field, object] of rows)
    t.match(readPod(object), { problem: field }, `${field} is invalid`)
})

t.test('only the valid values of a security context are read', async (t) => {
  t.strictSame(readSecurityContext(undefined), NO_CONTEXT)
  t.strictSame(readSecurityContext('root'), NO_CONTEXT)
  const most = 2 ** 31 - 1
  t.equal(readSecurityContext({ runAsUser: 0 }).runAsUser, 0)
  t.equal(readSecurityContext({ runAsUser: most }).runAsUser, most)
  t.strictSame(
    readSecurityContext({ capabilities: { add: ['CHOWN', 7, null, 'KILL'] } }).addedCapabilities,
    ['CHOWN', 'KILL'],
  )
  const names = Array.from({ length: 1000 }, (_, i) => 'A'.repeat(i % 32) + 'B'.repeat(i >> 5))
  const { droppedCapabilities } = readSecurityContext({ capabilities: { drop: [...names, 'ALL'] } })
  t.equal(
    droppedCapabilities.length,
    MAX_CAPABILITIES + 2,
    'the list has one name more than the maximum, and ALL',
  )
  t.ok(droppedCapabilities.includes('ALL'))
  t.equal(readSecurityContext({ runAsNonRoot: false }).runAsNonRoot, false)
  t.equal(readSecurityContext({ privileged: 'true' }).privileged, false)
})

t.test(
  'a pod with too many containers, or with a value that is too long, is invalid',
  async (t) => {
    const containers = (count: number) => Array.from({ length: count }, () => ({ name: 'c' }))
    const problemOf = (spec: Json) => {
      const pod = readPod({ metadata: {}, spec: { containers: [{ name: 'app' }], ...spec } })
      return 'problem' in pod ? pod.problem : undefined
    }
    t.equal(problemOf({ containers: containers(2 ** 16) }), undefined)
    t.match(problemOf({ containers: containers(2 ** 16 + 1) }), 'spec.containers')
    t.match(problemOf({ initContainers: containers(2 ** 16 + 1) }), 'spec.initContainers')
    t.equal(problemOf({ containers: [{ name: 'x'.repeat(63) }] }), undefined)
    t.match(problemOf({ containers: [{ name: 'x'.repeat(64) }] }), 'spec.containers')
    t.equal(
      problemOf({ restartPolicy: 'x'.repeat(63) }),
      undefined,
      'a value of a later version of Kubernetes is valid',
    )
    t.match(problemOf({ restartPolicy: 'x'.repeat(64) }), 'spec.restartPolicy')
  },
)

t.test('repeated and invalid names of capabilities are ignored', async (t) => {
  const drop = ['NET_RAW', 'ALL', 'NET_RAW', 'cap_chown', '', 'A'.repeat(33), 'KILL!', 'É', 7]
  const { droppedCapabilities } = readSecurityContext({ capabilities: { drop } })
  t.strictSame(droppedCapabilities, ['NET_RAW', 'ALL', 'cap_chown'])
})
