import t from 'tap'
import { findDifferences } from '../../../../src/runs/profiles/differences.ts'
import type { ProfileByPod } from '../../../../src/runs/profiles/profile-by-pod.ts'

const HERTZ = 100

/** Returns the profile of a function and of others, with 100 samples in a second. */
function profileOf(self: readonly number[], changes: Partial<ProfileByPod> = {}): ProfileByPod {
  const times = new Map(
    self.flatMap((own, pod) => {
      const time = { self: own, total: own, samples: own * HERTZ }
      return own > 0 ? [[pod, time] as const] : []
    }),
  )
  return {
    kind: 'processor',
    program: 'lmp',
    executable: 'lmp',
    pods: self.map((_, pod) => `${pod}`),
    seconds: self.map((own) => own + 100),
    incomplete: self.map(() => []),
    functions: [{ name: 'compute', library: null, times }],
    processes: self.map(() => 1),
    secondsThrough: () => [],
    ...changes,
  }
}

/** Returns the pods that differ in the function. */
const differing = (...args: Parameters<typeof profileOf>) =>
  findDifferences(profileOf(...args)).flatMap(({ pods }) => pods.map(({ pod }) => pod))

t.test('a pod with a quarter more time than the median differs', async (t) => {
  t.match(findDifferences(profileOf([40, 40, 52, 41])), [
    { name: 'compute', median: 40.5, compared: 4, pods: [{ pod: '2', self: 52, more: 11.5 }] },
  ])
  t.strictSame(differing([40, 40, 49, 41]), [], 'less than a quarter')
  t.strictSame(differing([40, 40, 20, 41]), [], 'less time than the others')
})

t.test('three pods are enough, and two are not', async (t) => {
  t.strictSame(differing([40, 40, 80]), ['2'])
  t.strictSame(differing([40, 80]), [])
})

t.test('pods that all differ have no outlier', async (t) => {
  t.strictSame(differing([40, 20, 60, 80, 30]), [])
})

t.test('a difference that the number of samples explains is none', async (t) => {
  // 12 s and 1.2 s more than the median: 4 standard deviations are 5.9 s and 1.9 s.
  const whole = [30, 30, 30, 30]
  t.strictSame(differing([10, 10, 10, 22], { seconds: whole }), ['3'])
  t.strictSame(differing([0.1, 0.1, 0.1, 0.22], { seconds: [1, 1, 1, 1] }), [])
})

t.test('a difference of less than 1 % of the processor time of the pod is none', async (t) => {
  t.strictSame(differing([2, 2, 2, 4], { seconds: [390, 390, 390, 390] }), [])
  t.strictSame(differing([2, 2, 2, 4], { seconds: [190, 190, 190, 190] }), ['3'])
})

t.test('a pod without a row used no time, and most pods may use none', async (t) => {
  t.match(findDifferences(profileOf([0, 0, 40, 0])), [{ median: 0, pods: [{ pod: '2' }] }])
})

t.test('pods with an incomplete profile are not compared', async (t) => {
  const incomplete = [[], [], ['lmp 7 (incomplete)'], []]
  t.strictSame(differing([40, 40, 80, 40], { incomplete }), [])
  const [found] = findDifferences(profileOf([40, 40, 10, 80], { incomplete }))
  t.match(found, { compared: 3, pods: [{ pod: '3' }] })
})

t.test('the sum of all other functions is not compared', async (t) => {
  const { functions } = profileOf([40, 40, 80, 40])
  const others = functions.map((one) => ({ ...one, name: '(other)' }))
  t.strictSame(differing([40, 40, 80, 40], { functions: others }), [])
})
