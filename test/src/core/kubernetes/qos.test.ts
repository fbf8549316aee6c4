import t from 'tap'
import { type Pod, readPod } from '../../../../src/core/kubernetes/pod.ts'
import { isGuaranteed } from '../../../../src/core/kubernetes/qos.ts'
import { askingPod, type Json, perfOf, ride } from '../build.ts'

type Amounts = readonly [cpu: unknown, memory: unknown]

const amounts = ([cpu, memory]: Amounts): Json => ({ cpu, memory })

/** Returns a container with these limits, and with equal requests unless requests are given. */
const container = (limits: Amounts | undefined, requests: Amounts | undefined = limits): Json => ({
  name: 'c',
  resources: {
    ...(limits && { limits: amounts(limits) }),
    ...(requests && { requests: amounts(requests) }),
  },
})

const pod = (containers: readonly Json[], initContainers: readonly Json[] = []): Pod => {
  const read = readPod({ metadata: {}, spec: { containers, initContainers } })
  if ('problem' in read) throw new Error(read.problem)
  return read
}

const EQUAL = container(['1', '1Gi'])

/** Whether each pod is Guaranteed. */
const PODS: readonly [boolean, string, Pod][] = [
  [true, 'one container with equal requests and limits', pod([EQUAL])],
  [true, 'two containers with equal requests and limits', pod([EQUAL, EQUAL])],
  [true, 'a container and an init container with equal requests and limits', pod([EQUAL], [EQUAL])],
  [true, 'equal amounts in different units', pod([container(['1', '1Gi'], ['1000m', '1024Mi'])])],
  [true, 'amounts that are numbers', pod([container([1, '1Gi'], ['1', '1073741824'])])],
  [
    true,
    'equal sums, but not in each container',
    pod([container(['1', '1Gi'], ['2', '1Gi']), container(['2', '1Gi'], ['1', '1Gi'])]),
  ],
  [
    true,
    'differences only in other resources',
    pod([
      {
        name: 'c',
        resources: {
          limits: { cpu: '1', memory: '1Gi', 'nvidia.com/gpu': '1' },
          requests: { cpu: '1', memory: '1Gi', 'ephemeral-storage': '5Gi' },
        },
      },
    ]),
  ],
  [false, 'no resources', pod([{ name: 'c' }])],
  [false, 'empty resources', pod([{ name: 'c', resources: {} }])],
  [false, 'only requests', pod([container(undefined, ['1', '1Gi'])])],
  [false, 'no cpu limit', pod([container([undefined, '1Gi'])])],
  [false, 'no memory limit', pod([container(['1', undefined])])],
  [false, 'a cpu limit of 0', pod([container(['0', '1Gi'])])],
  [false, 'a memory limit of 0', pod([container(['1', '0'])])],
  [false, 'a negative amount', pod([container(['-1', '1Gi'])])],
  [false, 'a cpu request below the limit', pod([container(['2', '1Gi'], ['1', '1Gi'])])],
  [false, 'a memory request below the limit', pod([container(['1', '2Gi'], ['1', '1Gi'])])],
  [false, 'a request above the limit', pod([container(['1', '1Gi'], ['2', '1Gi'])])],
  [false, 'a second container without resources', pod([EQUAL, { name: 'd' }])],
  [false, 'an init container without resources', pod([EQUAL], [{ name: 'd' }])],
  [false, 'a first container without resources', pod([{ name: 'd' }, EQUAL])],
  [
    false,
    'a container with equal requests and limits, and another without a cpu limit',
    pod([container(['1', '1Gi'], undefined), container([undefined, '1Gi'], ['2', '1Gi'])]),
  ],
  [false, 'an invalid limit', pod([container(['much', '1Gi'])])],
  [false, 'a list for a limit', pod([container([['1'], '1Gi'])])],
  [false, 'an invalid request', pod([container(['1', '1Gi'], ['much', '1Gi'])])],
  [false, 'a limit with a huge exponent', pod([container(['1e999999999', '1Gi'])])],
]

// kubernetes pkg/apis/core/v1/helper/qos/qos.go, ComputePodQOS
t.test(
  'isGuaranteed() returns true exactly for the pods that Kubernetes regards as Guaranteed',
  async (t) => {
    for (const [expected, name, read] of PODS) t.equal(isGuaranteed(read), expected, name)
  },
)

t.test('negative requests are not added to the sum', async (t) => {
  const read = pod([container(['1', '1Gi'], ['2', '1Gi']), container(['1', '1Gi'], ['-1', '1Gi'])])
  t.equal(isGuaranteed(read), true, 'the sum of the requests is equal to the sum of the limits')
})

t.test(
  'a pod is Guaranteed with an observer exactly if it is Guaranteed without an observer',
  async (t) => {
    const classOf = (spec: Json): string => {
      const { pod: patched } = ride(askingPod(spec))
      const read = readPod(patched)
      return 'problem' in read ? read.problem : String(isGuaranteed(read))
    }
    t.equal(classOf({ containers: [EQUAL] }), 'true')
    t.equal(classOf({ containers: [EQUAL], initContainers: [{ ...EQUAL, name: 'i' }] }), 'true')
    t.equal(classOf({ containers: [container(['2', '1Gi'], ['1', '1Gi'])] }), 'false')
    t.equal(classOf({}), 'false')
  },
)

t.test(
  'in a BestEffort pod, an observer requests 0: the apiserver copies limits to missing requests',
  async (t) => {
    const bestEffort = perfOf(ride(askingPod()))
    t.strictSame(bestEffort.resources?.requests, { cpu: '0', memory: '0' })
  },
)
