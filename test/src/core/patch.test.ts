import t from 'tap'
import { applied, check, type Operation, pointerTo } from '../../../src/core/patch.ts'
import type { Plan } from '../../../src/core/plan.ts'
import { answerIn, askingPod, type Json, patchedBy, podOf, ride } from './build.ts'

const ASKING = { 'ridealong.dev/inject': 'perf-sysstat' }
const CONTAINER = { 'ridealong.dev/mode': 'container' }

const pathsOf = (pod: unknown) => answerIn({}, pod).operations.map(({ path }) => path)

t.test('every operation of a patch is an add', async (t) => {
  const pods: [string, Json][] = [
    ['a bare pod', askingPod()],
    [
      'a pod with lists of init containers and volumes',
      askingPod({ initContainers: [], volumes: [], hostPID: false }),
    ],
    ['a pod that gets no observers', askingPod({ hostPID: true })],
    ['a pod with mode container', askingPod({}, CONTAINER)],
    ['a pod with shareProcessNamespace: false', askingPod({ shareProcessNamespace: false })],
  ]
  for (const [name, pod] of pods) {
    const { operations } = answerIn({}, pod)
    t.ok(operations.length > 0, `${name} is patched`)
    t.ok(
      operations.every(({ op }) => op === 'add'),
      `the patch of ${name} has only additions`,
    )
  }
})

t.test('the order of operations is metadata, process namespace, volumes, containers', async (t) => {
  const two = { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' }
  t.strictSame(pathsOf(askingPod({ initContainers: [{ name: 'a' }], volumes: [] }, two)), [
    '/metadata/annotations/ridealong.dev~1status',
    '/spec/shareProcessNamespace',
    '/spec/volumes/-',
    '/spec/initContainers/-',
    '/spec/initContainers/-',
  ])
  t.strictSame(pathsOf(askingPod({}, { ...two, ...CONTAINER })), [
    '/metadata/annotations/ridealong.dev~1status',
    '/metadata/annotations/kubectl.kubernetes.io~1default-container',
    '/spec/shareProcessNamespace',
    '/spec/volumes',
    '/spec/containers/-',
    '/spec/containers/-',
  ])
})

t.test('a patch does not contain fields that are already correct', async (t) => {
  const paths = pathsOf(
    askingPod({ shareProcessNamespace: true, automountServiceAccountToken: false }),
  )
  t.strictSame(paths, ['/metadata/annotations/ridealong.dev~1status', '/spec/initContainers'])
})

t.test('an absent or null list is created, and an existing list is extended', async (t) => {
  const volume = { name: 'data', emptyDir: {} }
  const init = { name: 'setup', image: 'a' }
  const rows: [string, Json, string[], string[]][] = [
    ['absent', {}, [], []],
    ['null', { initContainers: null, volumes: null }, [], []],
    ['empty', { initContainers: [], volumes: [] }, [], []],
    ['not empty', { initContainers: [init], volumes: [volume] }, ['setup'], ['data']],
  ]
  for (const [name, spec, initNames, volumeNames] of rows) {
    const { pod } = ride(askingPod(spec))
    const { initContainers = [], volumes = [] } = pod.spec
    t.strictSame(
      initContainers.map((container) => container.name),
      [...initNames, 'perf-sysstat'],
      `the list of init containers was ${name}`,
    )
    t.strictSame(
      volumes.map((each) => each.name),
      [...volumeNames, 'ridealong-no-token-705ab4f5'],
      `the list of volumes was ${name}`,
    )
  }
})

t.test('a status annotation is added to a pod whose annotations are absent or null', async (t) => {
  const { spec } = podOf()
  for (const annotations of [undefined, null]) {
    const pod = { metadata: { generateName: 'lammps-', annotations }, spec }
    const { word, status } = ride(pod, { annotations: ASKING })
    t.equal(word, 'injected', `annotations: ${annotations}`)
    t.equal(status?.outcome, 'injected')
    const left = ride(
      { ...pod, spec: { ...(spec as Json), hostPID: true } },
      { annotations: ASKING },
    )
    t.equal(
      left.status?.reason,
      'host-pid',
      'the status annotation is also added to a pod that gets no observers',
    )
  }
})

t.test('no existing field of a pod is moved, changed or lost', async (t) => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    future: { deep: [1, { two: null }] },
    metadata: {
      generateName: 'lammps-',
      labels: { 'a/b': '~' },
      annotations: { ...ASKING, 'example.com/a~b': '~1', '~0': '~', '': 'x' },
    },
    spec: {
      futureField: [{ x: null }],
      containers: [{ name: 'app', image: 'a', unknownField: { a: [] } }],
      initContainers: [{ name: 'setup', image: 'b', env: [{ name: 'A', value: '1' }] }],
      volumes: [{ name: 'v', unknownSource: {} }],
    },
  }
  const before = structuredClone(pod)
  const outcome = ride(pod)
  t.strictSame(pod, before, 'the received object is not edited')
  const { spec, metadata } = outcome.pod as unknown as typeof pod & {
    spec: { shareProcessNamespace?: boolean }
  }
  const { shareProcessNamespace, ...restOfSpec } = spec
  const { 'ridealong.dev/status': status, ...annotations } =
    metadata.annotations as unknown as Record<string, string>
  t.equal(shareProcessNamespace, true)
  t.ok(status)
  t.strictSame(
    {
      ...outcome.pod,
      metadata: { ...metadata, annotations },
      spec: {
        ...restOfSpec,
        initContainers: spec.initContainers.slice(0, 1),
        volumes: spec.volumes.slice(0, 1),
      },
    },
    before,
  )
})

t.test('a JSON pointer is escaped as RFC 6901 requires', async (t) => {
  t.equal(pointerTo('/metadata/annotations', 'a/b~c'), '/metadata/annotations/a~1b~0c')
  t.equal(pointerTo('/a', '~1'), '/a/~01', 'the tilde is escaped first')
  t.equal(pointerTo('/a', '//~~'), '/a/~1~1~0~0', 'each character is escaped')
  t.equal(pointerTo('/a', ''), '/a/')
})

t.test('applied() returns a new object', async (t) => {
  const pod = { spec: { containers: [{ name: 'app' }] } }
  const value = { name: 'perf-sysstat' }
  const operations: Operation[] = [{ op: 'add', path: '/spec/containers/-', value }]
  const patched = applied(pod, operations)
  t.strictSame(patched, { spec: { containers: [{ name: 'app' }, { name: 'perf-sysstat' }] } })
  t.strictSame(pod, { spec: { containers: [{ name: 'app' }] } })
  t.not(patched.spec.containers[1], value, 'the value is a copy')
})

t.test(
  'the patch in the response has the same result as the operations of the answer',
  async (t) => {
    const pod = askingPod({ initContainers: [{ name: 'setup', image: 'a' }] })
    const answer = answerIn({}, pod)
    t.equal(answer.response.response.patchType, 'JSONPatch')
    t.strictSame(
      JSON.parse(JSON.stringify(applied(pod, answer.operations))),
      patchedBy(pod, answer.response),
    )
  },
)

t.test('check() throws an error if a patch does not produce the plan', async (t) => {
  const observer = { name: 'perf-sysstat' }
  const volume = { name: 'cover' }
  const planned: Plan = {
    annotations: { 'ridealong.dev/status': 's' },
    sharesProcessNamespace: true,
    volumes: [volume],
    target: undefined,
    firstInitContainers: [],
    initContainers: [observer],
    containers: [observer],
    stripped: [0],
  }
  const pod = {
    metadata: { annotations: {} },
    spec: {
      volumes: [],
      initContainers: [{ name: 'stripped' }],
      containers: [{ name: 'app' }],
    },
  }
  const right: Operation[] = [
    { op: 'add', path: '/metadata/annotations/ridealong.dev~1status', value: 's' },
    { op: 'add', path: '/spec/shareProcessNamespace', value: true },
    { op: 'add', path: '/spec/volumes/-', value: volume },
    { op: 'add', path: '/spec/initContainers/0/restartPolicy', value: 'Always' },
    { op: 'add', path: '/spec/initContainers/-', value: observer },
    { op: 'add', path: '/spec/containers/-', value: observer },
  ]
  const before = structuredClone(pod)
  check(pod, right, planned)
  t.strictSame(pod, before, 'a correct patch is accepted, and the pod is not edited')
  const named = ['ridealong.dev/status', 'shareProcessNamespace', 'volumes']
  named.push('initContainers[0].restartPolicy', 'initContainers', 'containers')
  for (const [place, what] of named.entries()) {
    const message = `the patch does not produce the planned ${what}`
    t.throws(
      () => check(pod, right.toSpliced(place, 1), planned),
      { message },
      `the patch has no operation for ${what}`,
    )
  }
  const wrong: [string, number, Operation][] = [
    [
      'another value of the annotation',
      0,
      { op: 'add', path: '/metadata/annotations/ridealong.dev~1status', value: 't' },
    ],
    [
      'another key of the annotation',
      0,
      { op: 'add', path: '/metadata/annotations/ridealong.dev', value: 's' },
    ],
    [
      'shareProcessNamespace: false',
      1,
      { op: 'add', path: '/spec/shareProcessNamespace', value: false },
    ],
    ['an empty list in place of the volumes', 2, { op: 'add', path: '/spec/volumes', value: [] }],
    [
      'a wrong restartPolicy',
      3,
      { op: 'add', path: '/spec/initContainers/0/restartPolicy', value: 'Never' },
    ],
    [
      'the observer as the first init container',
      4,
      { op: 'add', path: '/spec/initContainers/0', value: observer },
    ],
    [
      'a list in place of the containers',
      5,
      { op: 'add', path: '/spec/containers', value: [observer] },
    ],
    ['a container of another name', 5, { op: 'add', path: '/spec/containers/-', value: volume }],
  ]
  for (const [name, place, operation] of wrong) {
    t.throws(
      () => check(pod, right.with(place, operation), planned),
      /the planned/,
      `the patch has ${name}`,
    )
  }
  const twice = [...right, ...right.slice(5)]
  t.throws(
    () => check(pod, twice, planned),
    /planned containers/,
    'the patch adds a container twice',
  )
  t.throws(() => check({ ...pod, metadata: {} }, right, planned), 'the pod has no annotations')
  t.throws(
    () => check({ ...pod, spec: { ...pod.spec, initContainers: [] } }, right, planned),
    'the pod has no init container whose restartPolicy could be set',
  )
})
