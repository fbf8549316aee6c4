import type { RunPod } from '../../src/runs/facts/pod-facts.ts'
import { timeSentence } from '../../src/runs/time/time-sentence.ts'
import { measurePods } from '../../src/runs/time/workload-time.ts'
import type { FoundPod } from '../shared/workload-pods.ts'

/** Where the time of a workload went so far, as the status of its pods says. */
export interface TimeSoFar {
  /** Takes the current pods. Pods that are gone keep their last status. */
  readonly take: (pods: readonly FoundPod[]) => void
  /** Returns one sentence; undefined if the time is not known. */
  readonly sentence: () => string | undefined
}

/** The words of pods that may belong to several runs. */
const SEVERAL_RUNS = /^(cronjob\/|selector )/

/** @param words the name of the workload, or the selector */
export function startTimeSoFar(words: string): TimeSoFar {
  const known = new Map<string, RunPod>()
  let sentence: string | undefined
  return {
    take: (pods) => {
      if (SEVERAL_RUNS.test(words)) return
      for (const [uid, pod] of known) known.set(uid, { ...pod, isGone: true })
      for (const { facts } of pods) known.set(facts.uid, facts)
      sentence = sentenceOf([...known.values()])
    },
    sentence: () => sentence,
  }
}

function sentenceOf(pods: readonly RunPod[]): string | undefined {
  const measured = measurePods(pods, Date.now())
  if (measured === null) return undefined
  return `${timeSentence(measured.time, 'its first pod was created', measured.isOver)}.`
}
