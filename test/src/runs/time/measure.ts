import type { Fields } from '../../../../src/core/kubernetes/json.ts'
import {
  type ControllerFacts,
  climbControllers,
  NO_FACTS,
} from '../../../../src/runs/collect/run-controllers.ts'
import { readPodFacts } from '../../../../src/runs/facts/pod-facts.ts'
import { groupRuns, type Run } from '../../../../src/runs/facts/run.ts'
import type { TimeOfRun } from '../../../../src/runs/time/parts.ts'
import { divideTime, sumTime } from '../../../../src/runs/time/run-time.ts'

/** The UID of the Job of the pods. */
export const JOB_UID = 'e37d7975-31d1-4ed2-8257-291575438313'

/** The pods of a Job, and what is known of it. */
export interface Situation {
  /** Objects of core/v1 Pod. */
  readonly pods: readonly Fields[]
  readonly facts: Partial<ControllerFacts>
  /** The pods that do not exist any more, by name. */
  readonly gone?: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Returns the run of a Job. */
export function readRunOfJob({ pods, facts, gone = [] }: Omit<Situation, 'now'>): Run {
  const known = new Map([[JOB_UID, { ...NO_FACTS, ...facts }]])
  const above = (controller: Parameters<typeof climbControllers>[1]) =>
    climbControllers(known, controller)
  const read = pods.map((pod) => {
    const found = readPodFacts(pod, new Set())
    return { ...found, isObserved: true, isGone: gone.includes(found.name) }
  })
  const [run] = groupRuns(read, { above, forbidden: [] })
  if (run === undefined) throw new Error('the Job has no pods')
  return run
}

/** Returns the time of the run of a Job. */
export function measureTime({ now, ...situation }: Situation): TimeOfRun {
  const time = divideTime(readRunOfJob(situation), now)
  if (time === null) throw new Error('the time of the run is not known')
  return sumTime(time)
}
