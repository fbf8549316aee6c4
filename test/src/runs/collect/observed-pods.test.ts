import t from 'tap'
import type { Fields } from '../../../../src/core/kubernetes/json.ts'
import { countPods } from '../../../../src/runs/collect/observed-pods.ts'
import { findObservers } from '../../../../src/runs/collect/observers.ts'
import { CATALOG, type PodShape, pod } from './pod.ts'

const METRICS = new Set(CATALOG.metrics.keys())

const countOf = (pods: readonly object[]) =>
  countPods(
    pods.map((one) => findObservers(one as Fields, METRICS, CATALOG)),
    'job/lammps',
  )

/** Returns a pod that was left for a reason. */
const left = (pod_index: number, reason: string, more: Partial<PodShape> = {}) => {
  const status = JSON.stringify({ outcome: 'left', reason, message: '' })
  return pod({ index: pod_index, metrics: [], status, ...more })
}

/** Returns a pod with perf-sysstat that applies to the pod, and io-sysstat that does not. */
const partly = (pod_index: number) => {
  const status = { outcome: 'injected', metrics: ['perf-sysstat'], notSelected: ['io-sysstat'] }
  return pod({ index: pod_index, status: JSON.stringify(status) })
}

t.test('pods are only counted if ridealong.dev/pods excluded a pod or a metric', async (t) => {
  t.equal(countOf([pod({ index: 0 }), pod({ index: 1 })]), null)
  t.equal(countOf([pod({ index: 0 }), left(1, 'host-pid'), left(2, 'pod-index-unknown')]), null)
  t.ok(countOf([pod({ index: 0 }), left(1, 'pod-not-selected')]))
  t.ok(countOf([partly(0)]))
})

t.test('the count has all pods, the observed pods, and the pods of each metric', async (t) => {
  const both = pod({ index: 0, metrics: ['perf-sysstat', 'io-sysstat'] })
  t.strictSame(countOf([both, partly(1), left(2, 'pod-not-selected'), left(3, 'host-pid')]), {
    workload: 'job/lammps',
    total: 4,
    observed: 2,
    metrics: { 'perf-sysstat': 2, 'io-sysstat': 1 },
  })
})

t.test('pods of one index count once, and pods that have no index do not count', async (t) => {
  const again = pod({ index: 0 }) as { metadata: object }
  const retried = { ...again, metadata: { ...again.metadata, name: 'lammps-0-retry' } }
  const unselected = left(1, 'pod-not-selected')
  const unknown = left(7, 'pod-index-unknown')
  t.match(countOf([pod({ index: 0 }), retried, unselected, unknown]), { total: 2, observed: 1 })
  const ownerReferences = [{ uid: 'other-job', controller: true }]
  const other = { ...again, metadata: { ...again.metadata, ownerReferences } }
  t.match(countOf([pod({ index: 0 }), other, unselected]), { total: 3, observed: 2 })
})
