import fc from 'fast-check'
import t from 'tap'
import { rememberGone, rememberPod } from '../../../../cli/archive/service/pod-memory.ts'
import { climbControllers, NO_FACTS } from '../../../../src/runs/collect/run-controllers.ts'
import type { RunPod } from '../../../../src/runs/facts/pod-facts.ts'
import { groupRuns } from '../../../../src/runs/facts/run.ts'
import { RUN } from '../../../src/runs/facts/generated-runs.ts'

const JOB = {
  ...{ apiVersion: 'batch/v1', kind: 'Job', name: 'lammps' },
  uid: 'e37d7975-31d1-4ed2-8257-291575438313',
}

function pod(changes: Partial<RunPod>): RunPod {
  const [run] = fc.sample(RUN, { numRuns: 1, seed: 1 })
  const [first] = run?.pods ?? []
  if (first === undefined) throw new Error('there is no generated pod')
  return { ...first, controller: JOB, pod_index: null, phase: 'Running', ...changes }
}

/** Returns the phase of a Job with these pods. @param needed the number of pods that it needs */
function phaseOf(pods: readonly RunPod[], needed: number, isGone: boolean): string | undefined {
  const facts = { ...NO_FACTS, pods: needed, isGone }
  const known = new Map([[JOB.uid, facts]])
  const above = (controller: RunPod['controller']) => climbControllers(known, controller)
  const named = pods.map((one, index) => ({ ...one, uid: `${index}`, name: `pod-${index}` }))
  return groupRuns(named, { above, forbidden: [] })[0]?.phase
}

t.test('a pod that was deleted before it ended is remembered as deleted', async (t) => {
  const deleting = rememberPod(pod({}), pod({ wasDeleted: true }))
  const ended = rememberPod(deleting, pod({ phase: 'Failed', wasDeleted: false }))
  t.equal(phaseOf([rememberGone(ended)], 1, true), 'Deleted')
  t.equal(phaseOf([rememberGone(ended)], 1, false), 'Running', 'the Job may create another pod')
})

t.test('a pod that ended before it was deleted has its phase', async (t) => {
  const ended = rememberPod(pod({}), pod({ phase: 'Succeeded' }))
  t.equal(phaseOf([rememberGone(rememberPod(ended, ended))], 1, true), 'Succeeded')
  t.equal(phaseOf([rememberGone(pod({}))], 1, true), 'Deleted', 'deleted without grace')
})

t.test('a Job that is gone has succeeded if enough of its pods have', async (t) => {
  const [failed, succeeded] = [pod({ phase: 'Failed' }), pod({ phase: 'Succeeded' })]
  t.equal(phaseOf([failed, succeeded], 1, true), 'Succeeded')
  t.equal(phaseOf([failed, succeeded], 2, true), 'Failed')
})

t.test('a pod keeps the controller of its first state', async (t) => {
  t.strictSame(rememberPod(pod({}), pod({ controller: undefined })).controller, JOB)
})
