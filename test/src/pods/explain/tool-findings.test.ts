import t from 'tap'
import { costSentence } from '../../../../src/pods/explain/cost.ts'
import { type Json, type PodObject, podOf, ride, type Texts } from '../../core/build.ts'
import { ALLOWED, MOUNTED, rideWith, SHARED, TOOLS } from '../../core/tools/build.ts'
import { explained } from './build.ts'

const PLACE = { catalog: TOOLS, labels: ALLOWED }
const asking = (inject: string, spec: Json = {}) => podOf({ 'ridealong.dev/inject': inject }, spec)

/** Returns the sentences of the findings about tools, by name. */
function toolsIn({ findings }: ReturnType<typeof explained>) {
  const names = /^(tool .*|loading|processes|drain)$/
  return Object.fromEntries(
    findings.flatMap(({ name, verdict, sentence }) => {
      return names.test(name) ? [[name, `${verdict}: ${sentence}`]] : []
    }),
  )
}

t.test('the explanation says what a tool adds, and what cannot be known', async (t) => {
  const explanation = explained(asking('cpu-profile'), PLACE)
  t.equal(explanation.outcome, 'injected')
  t.strictSame(toolsIn(explanation), {
    'tool cpu-profile':
      'ok: the init container cpu-profile-install (image registry.example/cpu-profile:1) copies' +
      ' the library to a volume of at most 256Mi; container app gets the variables LD_PRELOAD,' +
      ' CPUPROFILE and the paths /opt/ridealong/cpu-profile, /var/opt/ridealong/cpu-profile',
    loading:
      'unknown: static programs, and programs with another libc than the tool, run without it;' +
      ' variables that only the image sets are not known, and the tool replaces them',
    processes:
      'unknown: a process that SIGKILL ends, or that clears its environment, writes no complete' +
      ' result; ssh passes no variables to other pods: use mpirun -x LD_PRELOAD -x CPUPROFILE',
    drain:
      'look: the volume is an emptyDir: kubectl drain needs --delete-emptydir-data for this pod',
  })
  const two = toolsIn(explained(asking('cpu-profile,mpi-trace'), PLACE))
  t.strictSame(Object.keys(two), [
    'tool cpu-profile',
    'tool mpi-trace',
    'loading',
    'processes',
    'drain',
  ])
})

t.test('the explanation names the volume that tools of one image share', async (t) => {
  const tools = toolsIn(
    explained(asking('cpu-profile,gpu-trace,mpi-trace'), { ...PLACE, catalog: SHARED }),
  )
  const installed = (name: string, image: string, size: string) =>
    new RegExp(
      `^ok: the init container ${name} \\(image registry.example/${image}:1\\) .* ${size};`,
    )
  const shared = '320Mi, which also has the tool of'
  t.match(tools, {
    'tool cpu-profile': installed('cpu-profile-install', 'tools', `${shared} mpi-trace`),
    'tool mpi-trace': installed('cpu-profile-install', 'tools', `${shared} cpu-profile`),
    'tool gpu-trace': installed('gpu-trace-install', 'gpu', '1Gi'),
  })
})

t.test('the explanation says that a tool is mounted from its image', async (t) => {
  const explanation = explained(asking('cpu-profile,mpi-trace'), { ...PLACE, catalog: MOUNTED })
  t.match(
    toolsIn(explanation)['tool mpi-trace'],
    [
      'ok: the library is mounted from its image registry.example/tools:1, and its results are',
      'written to a volume of at most 320Mi, which also has the tool of cpu-profile; container app',
      'gets',
    ].join(' '),
  )
  t.equal(explanation.cost?.installers, undefined)
  t.equal(explanation.cost?.volumes, '320Mi')
})

const LAUNCHER = { labels: { 'jobset.sigs.k8s.io/replicatedjob-name': 'launcher' } }

/** Returns the findings about the variables of tools that a launcher forwards. */
function forwardingIn(inject: string, more: Texts = {}) {
  const pod = podOf({ 'ridealong.dev/inject': inject, ...more }, {}, LAUNCHER)
  const { findings } = explained(pod, PLACE)
  const isWanted = ({ name }: { name: string }) => /^(processes|ranks of .*)$/.test(name)
  return findings.filter(isWanted).map(({ name, verdict, sentence }) => {
    return `${name}: ${verdict}: ${sentence}`
  })
}

t.test(
  'the explanation of a launcher says which variables mpirun forwards, or why not',
  async (t) => {
    const processes =
      'processes: unknown: a process that SIGKILL ends, or that clears its environment, writes no' +
      ' complete result'
    t.strictSame(forwardingIn('cpu-profile,mpi-trace'), [
      processes,
      'ranks of cpu-profile: look: not forwarded: the catalog does not say that mpirun forwards' +
        ' its variables (forwardedBy); Open MPI needs mpirun -x LD_PRELOAD -x CPUPROFILE;' +
        ' mpirun of MPICH and of Intel MPI passes all variables',
      'ranks of mpi-trace: ok: mpirun of Open MPI passes LD_PRELOAD, TRACE_LEVEL to the ranks in' +
        ' other pods, but not TRACE_PATTERN (OMPI_MCA_orte_launch_agent,' +
        ' PRTE_MCA_prte_launch_agent); mpirun of MPICH and of Intel MPI passes all variables',
    ])
    t.strictSame(forwardingIn('mpi-trace', { 'ridealong.dev/pods': 'launcher' }), [
      processes,
      'ranks of mpi-trace: look: not forwarded: the request does not select all pods; Open MPI' +
        ' needs mpirun -x LD_PRELOAD -x TRACE_LEVEL -x TRACE_PATTERN;' +
        ' mpirun of MPICH and of Intel MPI passes all variables',
    ])
  },
)

t.test('the explanation of a pod without tools says nothing about tools', async (t) => {
  t.strictSame(toolsIn(explained(asking('perf-sysstat'), PLACE)), {})
  t.strictSame(toolsIn(explained(asking('cpu-profile'), { catalog: TOOLS })), {}, 'not allowed')
})

t.test('the cost includes the installers and the volumes', async (t) => {
  const { cost } = explained(asking('cpu-profile,mpi-trace'), { ...PLACE, pods: 3 })
  t.strictSame(cost, {
    pods: 3,
    requests: { cpu: '0', memory: '0' },
    limits: { cpu: '600m', memory: '192Mi' },
    // The installers run one after another.
    installers: { requests: { cpu: '0', memory: '0' }, limits: { cpu: '600m', memory: '72Mi' } },
    volumes: '1536Mi',
  })
  t.equal(
    costSentence({ pods: 1, requests: {}, limits: { cpu: '1' }, volumes: '16Mi' }),
    'for 1 pod: requests nothing; limits cpu 1; volumes on the nodes: at most 16Mi',
  )
  t.equal(
    cost && costSentence(cost),
    'for 3 pods: requests cpu 0, memory 0; limits cpu 600m, memory 192Mi;' +
      ' before the application starts: requests cpu 0, memory 0; limits cpu 600m, memory 72Mi;' +
      ' volumes on the nodes: at most 1536Mi',
  )
})

t.test(
  'the cost of tools of one image includes one installer and the sum of the sizes',
  async (t) => {
    const place = { ...PLACE, catalog: SHARED }
    const { cost } = explained(asking('cpu-profile,mpi-trace'), place)
    t.match(cost, { installers: { limits: { cpu: '200m', memory: '24Mi' } }, volumes: '320Mi' })
  },
)

t.test('in a pod with pod-level resources, only the volumes have a cost', async (t) => {
  const spec = { resources: { limits: { cpu: '1', memory: '1Gi' } } }
  const { cost } = explained(asking('cpu-profile', spec), PLACE)
  t.strictSame(cost, { pods: 1, requests: {}, limits: {}, volumes: '256Mi' })
  t.equal(
    cost && costSentence(cost),
    'for 1 pod: no requests or limits of their own; they share those of the pod;' +
      ' volumes on the nodes: at most 256Mi',
  )
})

/** Returns a pod as the webhook creates it, with a time of creation. */
function created(spec: Json): PodObject {
  const { pod } = rideWith('mpi-trace,cpu-profile', spec)
  return {
    ...pod,
    metadata: { ...pod.metadata, creationTimestamp: '2026-01-01T12:00:00Z' },
  } as never
}

t.test('a created pod with tools has the same findings and the same cost', async (t) => {
  const lists = { env: [{ name: 'LD_PRELOAD', value: '/own.so' }, { name: 'A' }] }
  const volumeMounts = [{ name: 'data', mountPath: '/data' }]
  const target = { name: 'app', image: 'a', ...lists, volumeMounts }
  const rows: Json[] = [
    {},
    { containers: [target] },
    { initContainers: [{ name: 'setup' }], containers: [target, { name: 'other' }] },
  ]
  for (const spec of rows) {
    const pod = created(spec)
    const before = asking('mpi-trace,cpu-profile', spec)
    const [now, then] = [explained(pod, PLACE, pod as never), explained(before, PLACE)]
    t.equal(now.outcome, 'injected')
    t.equal(Object.keys(toolsIn(then)).length, 5)
    t.strictSame(toolsIn(now), toolsIn(then))
    t.strictSame(now.cost, then.cost)
    t.strictSame(
      now.findings.filter(({ verdict }) => verdict === 'no'),
      [],
    )
  }
})

t.test('a container with the name of an installer is not one without the volume', async (t) => {
  const pod = created({})
  const named = { name: 'perf-sysstat-install', image: 'x', resources: { limits: { cpu: '9' } } }
  const initContainers = [...(pod.spec.initContainers ?? []), named]
  const more = { ...pod, spec: { ...pod.spec, initContainers } }
  const { cost } = explained(more, PLACE, more as never)
  t.match(cost?.installers, { limits: { cpu: '200m' } })
})

t.test('every rule of a pod with a tool has passed', async (t) => {
  const place = {
    ...PLACE,
    heldImages: ['registry.example/observer:1', 'registry.example/cpu-profile:1'],
  }
  const { findings } = explained(asking('cpu-profile'), place)
  for (const name of ['tools', 'variables', 'paths', 'image']) {
    t.match(
      findings.find((finding) => finding.name === name),
      { verdict: 'ok' },
      name,
    )
  }
  t.equal(ride(asking('cpu-profile'), place).word, 'injected')
})
