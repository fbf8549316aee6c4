import t from 'tap'
import type { Fields } from '../../../../src/core/kubernetes/json.ts'
import { findObservers } from '../../../../src/runs/collect/observers.ts'
import { recorded } from '../../../cases/read.ts'
import { CATALOG, pod } from './pod.ts'

const METRICS = new Set(['perf-sysstat', 'io-sysstat'])
const of = (value: object) => findObservers(value as Fields, METRICS, CATALOG)

t.test('the observers of a pod are its containers that ridealong.dev/status names', async (t) => {
  const { observers, isOver } = of(pod({ index: 3, metrics: ['perf-sysstat', 'io-sysstat'] }))
  t.match(observers, [
    { container: 'perf-sysstat', pod_index: '3', node: 'node-1', state: 'ended' },
    { container: 'io-sysstat' },
  ])
  t.equal(isOver, true)
  const status = JSON.stringify({ outcome: 'injected', metrics: ['perf-sysstat', 'gone'] })
  t.strictSame(
    of(pod({ index: 0, status })).observers.map(({ container }) => container),
    ['perf-sysstat'],
  )
  t.strictSame(of(pod({ index: 0, metrics: ['perf-sysstat'], status: '{}' })).observers, [])
})

t.test('an ephemeral container is an observer if it has the name of a metric', async (t) => {
  const plain = pod({ index: 0, metrics: [], status: '{}' }) as { spec: object; status: object }
  const attached = {
    ...plain,
    spec: { ...plain.spec, ephemeralContainers: [{ name: 'io-sysstat' }, { name: 'debugger' }] },
    status: {
      ...plain.status,
      ephemeralContainerStatuses: [{ name: 'io-sysstat', state: { running: {} } }],
    },
  }
  t.strictSame(
    of(attached).observers.map(({ container, state }) => [container, state]),
    [['io-sysstat', 'running']],
  )
})

t.test('the termination message of a container is read if there is one', async (t) => {
  const state = { terminated: { message: 'now' } }
  t.match(of(pod({ index: 0, state })).observers, [{ message: 'now', state: 'ended' }])
  t.match(of(pod({ index: 0, state: { waiting: {} } })).observers, [
    { message: null, state: 'waiting' },
  ])
})

t.test('how the other containers of the pod ended is read, also before a restart', async (t) => {
  const finishedAt = '2026-01-01T12:00:00Z'
  const killed = { terminated: { reason: 'OOMKilled', exitCode: 137, finishedAt } }
  const endedWith = (containerStatuses: unknown, metadata = {}) => {
    const one = pod({ index: 0 }) as { metadata: object; status: object }
    const status = { ...one.status, containerStatuses }
    const [observer] = of({ ...one, metadata: { ...one.metadata, ...metadata }, status }).observers
    return observer?.ended
  }
  const [container, reason, exitCode] = ['lammps', 'OOMKilled', 137]
  const others = { signal: null, finishedAt, restarted: false, deleted: false }
  const end = { container, reason, exitCode, ...others }
  t.strictSame(endedWith([{ name: 'lammps', state: killed }]), [end])
  t.strictSame(endedWith([{ name: 'lammps', lastState: killed, state: { running: {} } }]), [
    { ...end, restarted: true },
  ])
  t.strictSame(
    endedWith([{ name: 'lammps', state: killed }], { deletionTimestamp: finishedAt }),
    [{ ...end, deleted: true }],
    'the pod is being deleted',
  )
  const observer = { name: 'perf-sysstat', state: killed }
  t.strictSame(endedWith([{ name: 'lammps', state: { running: {} } }, observer]), [])
  t.equal(endedWith(undefined), null)
})

t.test('the limits of the whole pod are read', async (t) => {
  const limitsWith = (resources: object) => {
    const one = pod({ index: 0 }) as { spec: object }
    return of({ ...one, spec: { ...one.spec, resources } }).observers[0]?.podLimits
  }
  t.strictSame(limitsWith({ limits: { cpu: '1500m', memory: '2Gi' } }), {
    cpu: 1.5,
    memory: 2 * 1024 ** 3,
  })
  t.strictSame(limitsWith({ requests: { cpu: 1 } }), { cpu: null, memory: null })
  t.strictSame(limitsWith({ limits: { cpu: 'x', memory: 0 } }), { cpu: null, memory: null })
})

t.test('the pod is read from the label or annotation of each operator', async (t) => {
  const podOf = (name: string) => {
    const { object } = JSON.parse(recorded(name)).request
    const status = '{"outcome":"injected","metrics":["perf-sysstat"]}'
    const annotations = { ...object.metadata.annotations, 'ridealong.dev/status': status }
    const containers = [...object.spec.containers, { name: 'perf-sysstat' }]
    const spec = { ...object.spec, containers }
    return of({ ...object, metadata: { ...object.metadata, annotations }, spec }).observers[0]
      ?.pod_index
  }
  t.equal(podOf('flux-minicluster-rank1'), '1')
  t.equal(podOf('job-indexed'), '0')
  t.equal(podOf('jobset-worker'), 'workers-0-0')
  t.equal(podOf('mpijob-worker'), 'worker-0')
  t.equal(podOf('mpijob-launcher'), 'launcher')
})

t.test('a pod with invalid values has no observers', async (t) => {
  for (const wrong of [
    {},
    { metadata: 5, spec: [] },
    { spec: { containers: [null, { name: 5 }] } },
  ])
    t.strictSame(of(wrong).observers, [])
})

/** Returns a pod with changes to the container of its observer. */
function changed(change: object): Fields {
  const made = pod({ index: 0 }) as { spec: { initContainers: readonly { name: string }[] } }
  const initContainers = made.spec.initContainers.map((one) =>
    one.name === 'perf-sysstat' ? { ...one, ...change } : one,
  )
  return { ...made, spec: { ...made.spec, initContainers } }
}

const noticesOf = (made: object, catalog: typeof CATALOG | undefined) =>
  findObservers(made as Fields, METRICS, catalog).observers.map(({ notices }) => notices)

t.test(
  'a container that differs from the catalog, or was not compared, has a notice',
  async (t) => {
    t.strictSame(noticesOf(changed({}), CATALOG), [[]])
    t.strictSame(noticesOf(changed({ image: 'evil:1' }), CATALOG), [
      [
        'container perf-sysstat has image "evil:1" instead of the catalog\'s ' +
          '"ghcr.io/ridealong/observer:0.1.0": its log may not come from an observer',
      ],
    ])
    t.match(noticesOf(changed({ command: ['sh'] }), CATALOG), [
      [/has command "sh" instead of the cat/],
    ])
    const status = JSON.stringify({ outcome: 'injected', metrics: ['lammps'] })
    t.match(noticesOf(pod({ index: 0, status }), CATALOG), [
      [/^container lammps does not have the name of a metric of the catalog/],
    ])
    t.strictSame(noticesOf(changed({}), undefined), [
      ['its container was not compared with a catalog'],
    ])
  },
)
