import t from 'tap'
import { readPod } from '../../../../src/core/kubernetes/pod.ts'
import {
  type Resources,
  readPodResources,
  sumContainers,
} from '../../../../src/core/kubernetes/pod-resources.ts'
import { readResourceList } from '../../../../src/core/kubernetes/resource-list.ts'
import type { Json } from '../build.ts'

const read = (spec: Json, defaults: readonly Resources[] = []) => {
  const pod = readPod({ metadata: {}, spec })
  if ('problem' in pod) throw new Error(pod.problem)
  return readPodResources(pod, defaults)
}
const asking = (name: string, cpu: string, more: Json = {}) => ({
  name,
  resources: { requests: { cpu } },
  ...more,
})
const sidecar = (name: string, cpu: string) => asking(name, cpu, { restartPolicy: 'Always' })
const MILLI = 10n ** 9n

t.test(
  'the request of a pod is the maximum of its init phase and of the sum of its containers',
  async (t) => {
    const containers = [asking('a', '100m'), asking('b', '50m')]
    const rows: [string, readonly Json[], bigint][] = [
      ['the pod has no init containers', [], 150n],
      ['an init container requests less than the containers', [asking('i', '120m')], 150n],
      ['an init container requests more than the containers', [asking('i', '200m')], 200n],
      ['a sidecar runs with the containers', [sidecar('s', '30m')], 180n],
      [
        'an init container runs after the start of a sidecar',
        [sidecar('s', '30m'), asking('i', '200m')],
        230n,
      ],
      [
        'an init container runs before the start of a sidecar',
        [asking('i', '200m'), sidecar('s', '30m')],
        200n,
      ],
      [
        'an init container runs between the starts of two sidecars',
        [sidecar('s', '30m'), asking('i', '200m'), sidecar('u', '90m')],
        270n,
      ],
    ]
    for (const [what, initContainers, milli] of rows) {
      const sum = sumContainers(read({ containers, initContainers }), 'requests')
      t.equal(sum.get('cpu'), milli * MILLI, what)
    }
  },
)

t.test('a missing request is the limit of the container, or else the first default', async (t) => {
  const defaults = [
    { requests: readResourceList({ cpu: '10m' }), limits: readResourceList({ memory: '1Mi' }) },
    { requests: readResourceList({ cpu: '20m', memory: '2Mi' }), limits: readResourceList({}) },
  ]
  const containers = [
    { name: 'silent' },
    { name: 'limited', resources: { limits: { cpu: '70m' } } },
    { name: 'whole', resources: { limits: { memory: '9Mi' }, requests: { cpu: '5m' } } },
  ]
  const load = read({ containers }, defaults)
  const rows = load.containers.map(({ name, requests, limits }) => [
    name,
    requests.get('cpu'),
    requests.get('memory'),
    limits.get('cpu'),
    limits.get('memory'),
  ])
  const mebi = 2n ** 20n * 10n ** 12n
  t.strictSame(rows, [
    ['silent', 10n * MILLI, 2n * mebi, undefined, mebi],
    ['limited', 70n * MILLI, 2n * mebi, 70n * MILLI, mebi],
    ['whole', 5n * MILLI, 9n * mebi, undefined, 9n * mebi],
  ])
})

t.test('a pod has pod-level resources and overhead only if it sets them', async (t) => {
  const containers = [{ name: 'a' }]
  const silent = read({ containers })
  t.equal(silent.podLevel, undefined)
  t.equal(silent.overhead.size, 0)
  const own = { resources: { limits: { cpu: '1' } }, overhead: { cpu: '250m' } }
  const { podLevel, overhead } = read({ containers, ...own })
  t.strictSame([podLevel?.limits.get('cpu'), podLevel?.requests.size], [1000n * MILLI, 0])
  t.equal(overhead.get('cpu'), 250n * MILLI)
})

t.test('only the named resources of a pod are read', async (t) => {
  let read = 0
  const list = () => {
    const others = Array.from({ length: 1000 }, (_, i) => [
      `example.com/r${i}`,
      {
        enumerable: true,
        get() {
          read += 1
          return '1'
        },
      },
    ])
    return Object.defineProperties({ cpu: '1' }, Object.fromEntries(others))
  }
  const resources = { requests: list(), limits: list() }
  const spec = { containers: [{ name: 'a', resources }], resources, overhead: list() }
  const pod = readPod({ metadata: {}, spec })
  if ('problem' in pod) throw new Error(pod.problem)
  const load = readPodResources(pod, [], new Set(['cpu']))
  t.strictSame([...sumContainers(load, 'limits')], [['cpu', 1000n * MILLI]])
  t.strictSame([...load.overhead.keys()], ['cpu'])
  t.equal(read, 0)
})
