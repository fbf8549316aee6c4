import type { RunPod } from '../../src/runs/facts/pod-facts.ts'
import { timeSentence } from '../../src/runs/time/time-sentence.ts'
import { measurePods, type PodsTime } from '../../src/runs/time/workload-time.ts'
import type { FoundPod } from '../shared/workload-pods.ts'

/** Where the time of a workload went so far, as the status of its pods says. */
export interface TimeSoFar {
  /** Takes the current pods. Pods that are gone keep their last status. */
  readonly take: (pods: readonly FoundPod[]) => void
  /** Returns the time; undefined if it is not known. */
  readonly read: () => ShownTime | undefined
}

/** A time, and one sentence about it. */
export interface ShownTime extends PodsTime {
  readonly sentence: string
}

/** The words of pods that may belong to several runs. */
const SEVERAL_RUNS = /^(cronjob\/|selector )/

/** @param words the name of the workload, or the selector */
export function startTimeSoFar(words: string): TimeSoFar {
  const known = new Map<string, RunPod>()
  let shown: ShownTime | undefined
  return {
    take: (pods) => {
      if (SEVERAL_RUNS.test(words)) return
      for (const [uid, pod] of known) known.set(uid, { ...pod, isGone: true })
      for (const { facts } of pods) known.set(facts.uid, facts)
      shown = measure([...known.values()])
    },
    read: () => shown,
  }
}

function measure(pods: readonly RunPod[]): ShownTime | undefined {
  const measured = measurePods(pods, Date.now())
  if (measured === null) return undefined
  const { time, isOver } = measured
  return { ...measured, sentence: `${timeSentence(time, 'its first pod was created', isOver)}.` }
}
