import t from 'tap'
import { listPodUses } from '../../../../src/runs/card/pod-use.ts'
import type { ContainerFacts } from '../../../../src/runs/facts/container-facts.ts'
import type { RunPod } from '../../../../src/runs/facts/pod-facts.ts'

/** Returns a pod whose containers waited for storage for so many seconds. */
function podWith(storage: readonly (number | null)[]): RunPod {
  const containers = storage.map((seconds) => {
    return { requests: {}, limits: {}, use: { seconds: 20, storage: seconds } }
  }) as unknown as readonly ContainerFacts[]
  const whole = { podRequests: {}, podLimits: {}, isObserved: true, pod_index: '0', role: '' }
  return { ...whole, name: 'a', containers } as unknown as RunPod
}

t.test('the containers of a pod wait for storage at the same time', async (t) => {
  const waitOf = (...pods: readonly RunPod[]) => listPodUses(pods).map(({ storage }) => storage)
  t.strictSame(waitOf(podWith([12, 15])), [15])
  t.strictSame(waitOf(podWith([12, null])), [null])
  t.strictSame(waitOf(podWith([12, 15]), podWith([3])), [18], 'a pod and its retry')
})
