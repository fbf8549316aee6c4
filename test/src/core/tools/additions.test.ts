import t from 'tap'
import type { Json } from '../build.ts'
import { containerIn, rideWith } from './build.ts'

const SUFFIX = '705ab4f5'
const TOKEN = {
  name: `ridealong-no-token-${SUFFIX}`,
  mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
  readOnly: true,
}
const VOLUME = `ridealong-tool-cpu-profile-${SUFFIX}`
const NO_TOKEN = { automountServiceAccountToken: false }
const app = (more: Json = {}): Json => ({ name: 'app', image: 'app', ...more })

const namesIn = (list: readonly { readonly name: string }[] = []) => list.map(({ name }) => name)

t.test('a tool adds a volume, an installer, its observer, and fields of the target', async (t) => {
  const ridden = rideWith('cpu-profile', NO_TOKEN)
  const { pod, word } = ridden
  t.equal(word, 'injected')
  t.strictSame(pod.spec.volumes, [{ name: VOLUME, emptyDir: { sizeLimit: '256Mi' } }])
  t.strictSame(namesIn(pod.spec.initContainers), ['cpu-profile-install', 'cpu-profile'])
  t.strictSame(containerIn(ridden, 'cpu-profile-install'), {
    name: 'cpu-profile-install',
    image: 'registry.example/cpu-profile:1',
    imagePullPolicy: 'IfNotPresent',
    command: ['install'],
    env: [{ name: 'RIDEALONG_TOOL_VOLUME', value: '/ridealong/volume' }],
    resources: { requests: { cpu: '0', memory: '0' }, limits: { cpu: '200m', memory: '24Mi' } },
    securityContext: containerIn(ridden, 'cpu-profile').securityContext,
    volumeMounts: [{ name: VOLUME, mountPath: '/ridealong/volume' }],
  })
  t.match(containerIn(ridden, 'cpu-profile'), {
    restartPolicy: 'Always',
    volumeMounts: [{ name: VOLUME, mountPath: '/ridealong/results', subPath: 'results' }],
  })
  t.strictSame(containerIn(ridden, 'app'), {
    name: 'app',
    image: 'registry.example/app:1',
    env: [
      { name: 'LD_PRELOAD', value: '/opt/ridealong/cpu-profile/loader.so' },
      { name: 'CPUPROFILE', value: '/var/opt/ridealong/cpu-profile/cpu' },
    ],
    volumeMounts: [
      { name: VOLUME, subPath: 'tool', mountPath: '/opt/ridealong/cpu-profile', readOnly: true },
      { name: VOLUME, subPath: 'results', mountPath: '/var/opt/ridealong/cpu-profile' },
    ],
  })
})

t.test('the observer of a tool gets the size limit in bytes', async (t) => {
  const { env } = containerIn(rideWith('cpu-profile'), 'cpu-profile')
  t.match(
    env?.filter(({ name }) => name.startsWith('RIDEALONG_TOOL')),
    [{ name: 'RIDEALONG_TOOL_SIZE_LIMIT', value: `${256 * 1024 * 1024}` }],
  )
  const plain = containerIn(rideWith('cpu-profile,perf-sysstat'), 'perf-sysstat')
  t.notMatch(JSON.stringify(plain), /TOOL|ridealong-tool/, 'other observers get nothing of a tool')
})

t.test('installers and observers of tools have no token of the service account', async (t) => {
  const ridden = rideWith('cpu-profile')
  const mountsOf = (name: string) => containerIn(ridden, name).volumeMounts
  t.strictSame(namesIn(ridden.pod.spec.volumes), [TOKEN.name, VOLUME])
  t.strictSame(mountsOf('cpu-profile-install')?.[0], TOKEN)
  t.strictSame(mountsOf('cpu-profile')?.[0], TOKEN)
  t.notMatch(JSON.stringify(mountsOf('app')), TOKEN.name, 'the target keeps its token')
})

t.test('entries of the target stay first and unchanged, and are never copied', async (t) => {
  const env = [
    { name: 'HOME', value: '/home' },
    { name: 'LD_PRELOAD', value: '/lib/a.so' },
    { name: 'LD_PRELOAD', value: '$(LD_PRELOAD):/lib/b.so' },
    { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
  ]
  const volumeMounts = [{ name: 'data', mountPath: '/data', subPathExpr: '$(POD)' }]
  const target = containerIn(
    rideWith('cpu-profile', { containers: [app({ env, volumeMounts })] }),
    'app',
  )
  t.strictSame(target.env?.slice(0, 4), env)
  t.strictSame(target.env?.slice(4), [
    { name: 'LD_PRELOAD', value: '$(LD_PRELOAD):/opt/ridealong/cpu-profile/loader.so' },
    { name: 'CPUPROFILE', value: '/var/opt/ridealong/cpu-profile/cpu' },
  ])
  t.strictSame(target.volumeMounts?.slice(0, 1), volumeMounts)
  t.strictSame(namesIn(target.volumeMounts), ['data', VOLUME, VOLUME])
})

t.test('absent, null and empty lists of the target get the additions of a tool', async (t) => {
  for (const list of [undefined, null, []]) {
    const spec = { containers: [app({ env: list, volumeMounts: list })] }
    const { env, volumeMounts } = containerIn(rideWith('cpu-profile', spec), 'app')
    t.strictSame(
      namesIn(env),
      ['LD_PRELOAD', 'CPUPROFILE'],
      `the lists are ${JSON.stringify(list)}`,
    )
    t.strictSame(namesIn(volumeMounts), [VOLUME, VOLUME])
  }
})

t.test('two tools join a variable, and have their own volumes and installers', async (t) => {
  const ridden = rideWith('mpi-trace,perf-sysstat,cpu-profile', NO_TOKEN)
  const { pod, status } = ridden
  const [trace, profile] = [`ridealong-tool-mpi-trace-${SUFFIX}`, VOLUME]
  t.strictSame(namesIn(pod.spec.volumes), [trace, profile])
  t.strictSame(namesIn(pod.spec.initContainers), [
    ...['mpi-trace-install', 'cpu-profile-install'],
    ...['mpi-trace', 'perf-sysstat', 'cpu-profile'],
  ])
  const { env, volumeMounts } = containerIn(ridden, 'app')
  t.strictSame(env, [
    {
      name: 'LD_PRELOAD',
      value: '/opt/ridealong/mpi-trace/loader.so:/opt/ridealong/cpu-profile/loader.so',
    },
    { name: 'TRACE_PATTERN', value: 'a$$(b)' },
    { name: 'TRACE_LEVEL', value: 'low' },
    { name: 'CPUPROFILE', value: '/var/opt/ridealong/cpu-profile/cpu' },
  ])
  t.strictSame(namesIn(volumeMounts), [trace, trace, profile, profile])
  t.strictSame(status?.variables, ['LD_PRELOAD', 'TRACE_PATTERN', 'TRACE_LEVEL', 'CPUPROFILE'])
})

t.test('a variable gets the value of an option, escaped for the kubelet', async (t) => {
  const chosen = { 'mpi-trace.ridealong.dev/level': ' all$ ' }
  const { env } = containerIn(rideWith('mpi-trace', {}, chosen), 'app')
  t.match(env?.[2], { name: 'TRACE_LEVEL', value: 'all$$' })
})

t.test('only the target gets the additions of a tool', async (t) => {
  const spec = {
    ...NO_TOKEN,
    initContainers: [
      { name: 'setup', image: 'a' },
      { name: 'proxy', image: 'b', restartPolicy: 'Always', env: [{ name: 'A', value: '1' }] },
    ],
    containers: [app(), { name: 'other', image: 'c', env: [] }],
  }
  for (const target of ['app', 'other', 'proxy']) {
    const ridden = rideWith('cpu-profile', spec, { 'ridealong.dev/target-container': target })
    const { initContainers = [], containers } = ridden.pod.spec
    t.strictSame(namesIn(initContainers), [
      ...['cpu-profile-install', 'setup', 'proxy', 'cpu-profile'],
    ])
    for (const received of [...spec.initContainers, ...spec.containers]) {
      const all = [...initContainers, ...containers]
      const found = all.find(({ name }) => name === received.name)
      if (received.name !== target)
        t.strictSame(found, received, `${String(received.name)} is kept`)
      else t.match(JSON.stringify(found), /CPUPROFILE.*\/opt\/ridealong/, `${target} has the tool`)
    }
  }
})

t.test('an init container with the name of the target is not the target', async (t) => {
  const setup = { name: 'app', image: 'setup' }
  const { pod } = rideWith('cpu-profile', { initContainers: [setup], containers: [app()] })
  t.strictSame(pod.spec.initContainers?.[1], setup)
  t.match(pod.spec.containers[0]?.env?.[0], { name: 'LD_PRELOAD' })
})
