import t from 'tap'
import { check, type Operation } from '../../src/core/patch.ts'
import type { Plan } from '../../src/core/plan.ts'
import type { Json } from '../src/core/build.ts'
import { rideWith } from '../src/core/tools/build.ts'

const NO_TOKEN = { automountServiceAccountToken: false, shareProcessNamespace: true }
const app = (more: Json = {}): Json => ({ name: 'app', image: 'app', ...more })
const STATUS = '/metadata/annotations/ridealong.dev~1status'

const pathsOf = (inject: string, spec: Json, more: Record<string, string> = {}) =>
  rideWith(inject, { ...NO_TOKEN, ...spec }, more).answer.operations.map(({ path }) => path)

t.test('the target is changed before init containers are inserted before it', async (t) => {
  const proxy = { name: 'proxy', restartPolicy: 'Always', env: [], volumeMounts: [] }
  const initContainers = [{ name: 'setup' }, proxy]
  const target = { 'ridealong.dev/target-container': 'proxy' }
  t.strictSame(pathsOf('cpu-profile', { initContainers }, target), [
    STATUS,
    '/spec/volumes',
    '/spec/initContainers/1/env/-',
    '/spec/initContainers/1/env/-',
    '/spec/initContainers/1/volumeMounts/-',
    '/spec/initContainers/1/volumeMounts/-',
    '/spec/initContainers/0',
    '/spec/initContainers/-',
  ])
})

t.test('several installers are inserted in the order of their metrics', async (t) => {
  const spec = { initContainers: [{ name: 'setup' }], containers: [app({ env: [] })] }
  t.strictSame(pathsOf('cpu-profile,mpi-trace', { ...spec, volumes: [] }), [
    STATUS,
    '/spec/volumes/-',
    '/spec/volumes/-',
    ...Array.from({ length: 4 }, () => '/spec/containers/0/env/-'),
    '/spec/containers/0/volumeMounts',
    '/spec/initContainers/0',
    '/spec/initContainers/1',
    '/spec/initContainers/-',
    '/spec/initContainers/-',
  ])
})

t.test('lists that a pod does not have are created with all additions of tools', async (t) => {
  for (const initContainers of [undefined, null]) {
    t.strictSame(pathsOf('cpu-profile', { initContainers, containers: [{ name: 'x' }, app()] }), [
      STATUS,
      '/spec/volumes',
      '/spec/containers/0/env',
      '/spec/containers/0/volumeMounts',
      '/spec/initContainers',
    ])
  }
  const container = { 'ridealong.dev/mode': 'container' }
  t.strictSame(pathsOf('cpu-profile', {}, container).slice(-3), [
    '/spec/containers/0/volumeMounts',
    '/spec/initContainers',
    '/spec/containers/-',
  ])
})

const status = JSON.stringify({ outcome: 'injected', metrics: ['perf-sysstat'] })

t.test('a stripped observer is restored together with the installation of a tool', async (t) => {
  const observer = { name: 'perf-sysstat', image: 'registry.example/observer:1' }
  const initContainers = [{ name: 'setup' }, { ...observer, command: ['perf-sysstat'] }]
  const ridden = rideWith(
    'perf-sysstat,cpu-profile',
    { ...NO_TOKEN, initContainers },
    {
      'ridealong.dev/status': status,
    },
  )
  t.strictSame(
    ridden.answer.operations.map(({ path }) => path),
    [
      STATUS,
      '/spec/volumes',
      '/spec/initContainers/1/restartPolicy',
      '/spec/containers/0/env',
      '/spec/containers/0/volumeMounts',
      '/spec/initContainers/0',
      '/spec/initContainers/-',
    ],
  )
  t.strictSame(
    ridden.pod.spec.initContainers?.map(({ name, restartPolicy }) => [name, restartPolicy]),
    [
      ['cpu-profile-install', undefined],
      ['setup', undefined],
      ['perf-sysstat', 'Always'],
      ['cpu-profile', 'Always'],
    ],
  )
})

const installer = { name: 'cpu-profile-install' }
const observer = { name: 'cpu-profile' }
const variable = { name: 'LD_PRELOAD', value: '/loader.so' }
const mount = { name: 'volume', mountPath: '/opt' }

/** Returns a plan whose target is the container at `index` of a list. */
function planFor(list: 'containers' | 'initContainers', index: number, more: Partial<Plan>): Plan {
  return {
    annotations: {},
    sharesProcessNamespace: false,
    volumes: [],
    target: { list, index, env: [variable], volumeMounts: [mount] },
    firstInitContainers: [installer],
    initContainers: [observer],
    containers: [],
    stripped: [],
    ...more,
  }
}

const adding = (path: string, value: unknown): Operation => ({ op: 'add', path, value })

/** Returns the operations that change the target at a path, and then add init containers. */
const operationsAt = (target: string): Operation[] => [
  adding(`${target}/env/-`, variable),
  adding(`${target}/volumeMounts/-`, mount),
  adding('/spec/initContainers/0', installer),
  adding('/spec/initContainers/-', observer),
]

const target = { name: 'app', env: [{ name: 'A' }], volumeMounts: [{ name: 'data' }] }
const side = { ...target, name: 'side', restartPolicy: 'Always' }
const POD = {
  metadata: {},
  spec: { initContainers: [{ name: 'setup' }, side], containers: [{ name: 'first' }, target] },
}

t.test('check() accepts the patch of a tool, and does not edit the pod', async (t) => {
  const before = structuredClone(POD)
  check(POD, operationsAt('/spec/containers/1'), planFor('containers', 1, {}))
  check(POD, operationsAt('/spec/initContainers/1'), planFor('initContainers', 1, {}))
  const stripped = planFor('initContainers', 1, { stripped: [0, 1] })
  const restored = [0, 1].map((index) => {
    return adding(`/spec/initContainers/${index}/restartPolicy`, 'Always')
  })
  check(POD, [...restored, ...operationsAt('/spec/initContainers/1')], stripped)
  t.strictSame(POD, before)
})

/** The wrong part of the plan, the place of the operation, and the operations that replace it. */
const WRONG_PATCHES: readonly [string, string, number, Operation[]][] = [
  ['no variable', 'env of the target', 0, []],
  ['no mount', 'mounts of the target', 1, []],
  ['no installer', 'initContainers', 2, []],
  ['no observer', 'initContainers', 3, []],
  ['another variable', 'env of the target', 0, [adding('/T/env/-', { ...variable })]],
  [
    'a variable twice',
    'env of the target',
    0,
    [adding('/T/env/-', variable), adding('/T/env/-', variable)],
  ],
  ['a variable first', 'env of the target', 0, [adding('/T/env/0', variable)]],
  ['a new list of variables', 'env of the target', 0, [adding('/T/env', [variable])]],
  ['a new list of mounts', 'mounts of the target', 1, [adding('/T/volumeMounts', [mount])]],
  [
    'another name of the target',
    'target',
    1,
    [adding('/T/name', 'x'), adding('/T/volumeMounts/-', mount)],
  ],
  [
    'a variable of another container',
    'env of the target',
    0,
    [adding('/spec/containers/0/env', [variable])],
  ],
  ['the installer last', 'initContainers', 2, [adding('/spec/initContainers/-', installer)]],
  ['the installer second', 'initContainers', 2, [adding('/spec/initContainers/1', installer)]],
  [
    'the installer twice',
    'initContainers',
    2,
    [adding('/spec/initContainers/0', installer), adding('/spec/initContainers/0', installer)],
  ],
  [
    'a new list of init containers',
    'initContainers',
    2,
    [adding('/spec/initContainers', [installer])],
  ],
]

t.test('check() throws an error if the patch of a tool does not produce the plan', async (t) => {
  for (const [list, index] of [
    ['containers', 1],
    ['initContainers', 1],
  ] as const) {
    const path = `/spec/${list}/${index}`
    for (const [name, part, place, replaced] of WRONG_PATCHES) {
      const there = replaced.map((one) => ({ ...one, path: one.path.replace('/T', path) }))
      const operations = operationsAt(path).toSpliced(place, 1, ...(there as Operation[]))
      const message = `the patch does not produce the planned ${part}`
      t.throws(
        () => check(POD, operations, planFor(list, index, {})),
        { message },
        `${list}: ${name}`,
      )
    }
  }
})

t.test('check() throws an error if init containers are inserted before the target', async (t) => {
  const path = '/spec/initContainers/1'
  const [env, mounts, ...rest] = operationsAt(path)
  const late = [...rest, ...(env && mounts ? [env, mounts] : [])]
  t.throws(() => check(POD, late, planFor('initContainers', 1, {})))
  const restart = adding('/spec/initContainers/0/restartPolicy', 'Always')
  t.throws(
    () =>
      check(POD, [...operationsAt(path), restart], planFor('initContainers', 1, { stripped: [0] })),
    /planned initContainers\[0\]\.restartPolicy|planned initContainers/,
  )
})
