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

const OBSERVER = { name: 'perf-sysstat' }
const VOLUME = { name: 'cover' }

const PLANNED: Plan = {
  annotations: { 'ridealong.dev/status': 's' },
  sharesProcessNamespace: true,
  volumes: [VOLUME],
  target: undefined,
  firstInitContainers: [],
  initContainers: [OBSERVER],
  containers: [OBSERVER],
  stripped: [0],
}

const POD = {
  metadata: { annotations: {} },
  spec: {
    volumes: [],
    initContainers: [{ name: 'stripped' }],
    containers: [{ name: 'app' }],
  },
}

const RIGHT: Operation[] = [
  { op: 'add', path: '/metadata/annotations/ridealong.dev~1status', value: 's' },
  { op: 'add', path: '/spec/shareProcessNamespace', value: true },
  { op: 'add', path: '/spec/volumes/-', value: VOLUME },
  { op: 'add', path: '/spec/initContainers/0/restartPolicy', value: 'Always' },
  { op: 'add', path: '/spec/initContainers/-', value: OBSERVER },
  { op: 'add', path: '/spec/containers/-', value: OBSERVER },
]

/** The parts of the plan that the operations in RIGHT produce. */
const PLACES = [
  'ridealong.dev/status',
  'shareProcessNamespace',
  'volumes',
  'initContainers[0].restartPolicy',
  'initContainers',
  'containers',
]

/** A description of an operation, its place in RIGHT, and the operation. */
const WRONG: [string, number, Operation][] = [
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
    { op: 'add', path: '/spec/initContainers/0', value: OBSERVER },
  ],
  [
    'a list in place of the containers',
    5,
    { op: 'add', path: '/spec/containers', value: [OBSERVER] },
  ],
  ['a container of another name', 5, { op: 'add', path: '/spec/containers/-', value: VOLUME }],
]

t.test('check() accepts a patch that produces the plan', async (t) => {
  const before = structuredClone(POD)
  check(POD, RIGHT, PLANNED)
  t.strictSame(POD, before, 'the pod is not edited')
})

t.test('check() names the part of the plan for which the patch has no operation', async (t) => {
  for (const [place, what] of PLACES.entries()) {
    const message = `the patch does not produce the planned ${what}`
    t.throws(
      () => check(POD, RIGHT.toSpliced(place, 1), PLANNED),
      { message },
      `the patch has no operation for ${what}`,
    )
  }
})

t.test('check() rejects operations that differ from the plan', async (t) => {
  for (const [name, place, operation] of WRONG) {
    t.throws(
      () => check(POD, RIGHT.with(place, operation), PLANNED),
      /the planned/,
      `the patch has ${name}`,
    )
  }
})

t.test(
  'check() rejects a patch that adds a container twice, or does not fit the pod',
  async (t) => {
    const twice = [...RIGHT, ...RIGHT.slice(5)]
    t.throws(
      () => check(POD, twice, PLANNED),
      /planned containers/,
      'the patch adds a container twice',
    )
    t.throws(() => check({ ...POD, metadata: {} }, RIGHT, PLANNED), 'the pod has no annotations')
    t.throws(
      () => check({ ...POD, spec: { ...POD.spec, initContainers: [] } }, RIGHT, PLANNED),
      'the pod has no init container whose restartPolicy could be set',
    )
  },
)
