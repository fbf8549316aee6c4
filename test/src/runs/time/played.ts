import fc from 'fast-check'
import type { Fields } from '../../../../src/core/kubernetes/json.ts'
import type { AttemptGroup } from '../../../../src/runs/attempts/attempt-groups.ts'
import { JOB_UID } from './measure.ts'

const BEGUN = Date.UTC(2026, 10, 30)

/** Returns the time that is some seconds after the creation of the workload. */
export function at(seconds: number): string {
  return new Date(BEGUN + seconds * 1000).toISOString()
}

export interface PlayedRun {
  readonly from: number
  readonly to: number
  readonly exitCode: number
}

export interface PlayedPod {
  readonly index: number
  /** The number of pods of its index before it. */
  readonly retry: number
  /** The containers by name, each with its runs. */
  readonly runs: Readonly<Record<string, readonly PlayedRun[]>>
}

const RUN_PLAN = fc.record({ gap: fc.nat(60), length: fc.nat(600), exitCode: fc.nat(255) })
const RUNS_PLAN = fc.array(RUN_PLAN, { minLength: 1, maxLength: 5 })
const POD_PLAN = fc.record({ app: RUNS_PLAN, side: RUNS_PLAN })

/** The pods of a Job with indexes: in each place, all but the last one failed. */
export const PLAYED: fc.Arbitrary<readonly PlayedPod[]> = fc
  .array(fc.array(POD_PLAN, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
  .map((places) =>
    places.flatMap((pods, index) => {
      let now = 0
      return pods.map(({ app, side }, retry) => {
        const start = now
        const play = (plans: typeof app) =>
          plans.map(({ gap, length, exitCode }) => {
            const from = now + 1 + gap
            now = from + length
            return { from, to: now, exitCode }
          })
        const played = play(app)
        const end = now
        now = start
        const beside = play(side)
        now = Math.max(now, end) + 1
        return { index, retry, runs: { app: played, side: beside } }
      })
    }),
  )

/** Returns the status of a container after some of its starts have ended. */
function statusOf(name: string, runs: readonly PlayedRun[], ended: number): Fields {
  const states = runs.slice(0, ended).map(({ from, to, exitCode }) => {
    return { terminated: { exitCode, startedAt: at(from), finishedAt: at(to) } }
  })
  const [before, last] = [states.at(-2) ?? {}, states.at(-1)]
  return { name, restartCount: Math.max(ended - 1, 0), state: last, lastState: before }
}

/** Returns a pod as its status is after each container has ended this often. */
export function podObject({ index, retry, runs }: PlayedPod, ended: number): Fields {
  const name = `train-${index}-${retry}`
  const label = { 'batch.kubernetes.io/job-completion-index': String(index) }
  const created = Math.min(...Object.values(runs).map(([first]) => first?.from ?? 0)) - 1
  const isOver = Object.values(runs).every(({ length }) => length <= ended)
  return {
    metadata: {
      ...{ namespace: 'hpc', name, uid: name, labels: label },
      annotations: { ...label, 'batch.kubernetes.io/job-index-failure-count': String(retry) },
      creationTimestamp: at(created),
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: JOB_UID, controller: true },
      ],
    },
    spec: { containers: Object.keys(runs).map((container) => ({ name: container })) },
    status: {
      phase: isOver ? 'Failed' : 'Running',
      containerStatuses: Object.entries(runs).map(([container, own]) =>
        statusOf(container, own, Math.min(ended, own.length)),
      ),
    },
  }
}

/** Returns the attempts as the programs made them, of a pod with some attempts before. */
export function attemptsOf({ index, runs }: PlayedPod, before: number): readonly AttemptGroup[] {
  return Object.entries(runs).flatMap(([container, own]) =>
    own.map(({ from, to, exitCode }, position) => ({
      ...{ attempt: before + position + 1, podIndex: String(index), container },
      ...{ phase: exitCode === 0 ? 'Succeeded' : 'Failed', reason: null, exitCode, signal: null },
      ...{ count: 1, started: BEGUN + from * 1000, ended: BEGUN + to * 1000, seconds: to - from },
    })),
  )
}
