import fc from 'fast-check'
import type { RunPod } from '../../../../src/runs/facts/pod-facts.ts'
import type { Run } from '../../../../src/runs/facts/run.ts'
import type { ContainerUse } from '../../../../src/runs/log/container-use.ts'

/** The use of a container that was not throttled and not killed. */
const USE: fc.Arbitrary<ContainerUse> = fc.record({
  seconds: fc.double({ min: 0.01, max: 1e7, noNaN: true }),
  cpu: fc.double({ min: 0, max: 1e9, noNaN: true }),
  cpuLimit: fc.constant(null),
  periods: fc.constant(1000),
  throttledPeriods: fc.integer({ min: 0, max: 249 }),
  throttled: fc.constant(0),
  runDelay: fc.double({ min: 0, max: 1e6, noNaN: true }),
  storage: fc.constant(null),
  memoryPeak: fc.integer({ min: 0, max: 2 ** 50 }),
  memoryLimit: fc.constant(null),
  oomKills: fc.constant(0),
  isFinal: fc.constant(true),
})

const AMOUNTS = fc.record({
  cpu: fc.option(fc.double({ min: 0.001, max: 512, noNaN: true })),
  memory: fc.option(fc.integer({ min: 1, max: 2 ** 50 })),
})

/** A pod that has ended, with its pod in one of two roles. */
const POD: fc.Arbitrary<RunPod> = fc
  .record({
    role: fc.constantFrom('leader', 'worker'),
    number: fc.integer({ min: 0, max: 3 }),
    uses: fc.array(fc.record({ use: USE, requests: AMOUNTS, limits: AMOUNTS }), {
      minLength: 1,
      maxLength: 3,
    }),
  })
  .map(({ role, number, uses }) => ({
    namespace: 'hpc',
    name: `${role}-${number}`,
    uid: `${role}-${number}`,
    controller: undefined,
    revision: null,
    role,
    pod_index: `${role}-${number}`,
    phase: 'Succeeded',
    wasDeleted: false,
    isGone: false,
    reason: null,
    created: 0,
    node: null,
    started: 0,
    ended: 1000,
    restartAttempt: 0,
    indexFailures: 0,
    history: { marks: [], starts: [], deleted: null, ended: null },
    isObserved: true,
    containers: uses.map((own, index) => ({
      name: `c${index}`,
      image: null,
      ended: [],
      lifetime: null,
      ...own,
    })),
    podRequests: { cpu: null, memory: null },
    podLimits: { cpu: null, memory: null },
    missing: [],
  }))

/** A run that succeeded, with some pods. */
export const RUN: fc.Arbitrary<Run> = fc.array(POD, { minLength: 1, maxLength: 4 }).map((pods) => ({
  namespace: 'hpc',
  word: 'jobset',
  group: 'jobset.x-k8s.io',
  apiVersion: 'jobset.x-k8s.io/v1alpha2',
  kind: 'JobSet',
  name: 'train',
  uid: 'train',
  revision: null,
  phase: 'Succeeded',
  pods,
  podCounts: { observed: pods.length, expected: pods.length },
  begun: null,
  hasLostPods: false,
  lostPods: 0,
}))
