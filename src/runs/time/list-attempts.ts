import type { AttemptGroup, AttemptPhase } from '../attempts/attempt-groups.ts'
import type { ContainerRun } from '../facts/container-runs.ts'
import { isTerminal, type RunPod } from '../facts/pod-facts.ts'
import type { ContainerStarts } from '../facts/pod-history.ts'
import { isRevision, type Run } from '../facts/run.ts'
import { isReplacedEnd } from '../log/entry.ts'
import { groupSequences, type PodSequence } from './sequences.ts'

/**
 * Returns all attempts of a run: each start of a container of the application, in each pod of each
 * place. The attempts of a place are counted over the pods that replaced each other there. Those
 * that are known to have been, but of which nothing else is known, are in groups without a number.
 */
export function listAttempts(run: Run): readonly AttemptGroup[] {
  // The pods of a revision come and go, and each does its work from the beginning.
  const places = isRevision(run) ? run.pods.map((pod) => [pod]) : groupSequences(run.pods)
  const known = places.map(listInPlace)
  const gone = known.reduce((sum, place) => sum + place.gone, 0)
  return [
    ...known.flatMap(({ attempts }) => attempts),
    ...unknownAttempts(Math.max(gone, run.lostPods), NO_CONTAINER),
  ]
}

interface AttemptsOfPlace {
  readonly attempts: readonly AttemptGroup[]
  /** The number of attempts before, whose pods do not exist any more. */
  readonly gone: number
}

/** Returns the attempts of the pods that replaced each other in one place. */
export function listInPlace(sequence: PodSequence): AttemptsOfPlace {
  const attempts: AttemptGroup[] = []
  let [gone, number] = [0, 0]
  for (const [index, pod] of sequence.entries()) {
    // A pod that succeeded is followed by one with other work, unless its JobSet has restarted.
    const known = sequence[index - 1]?.phase === 'Succeeded' ? 0 : number
    const before = Math.max(known, pod.restartAttempt + pod.indexFailures)
    gone += Math.max(before - number, 0)
    const own = listInPod(pod, before)
    attempts.push(...own)
    number = before + Math.max(...pod.history.starts.map(countStarts), own.length > 0 ? 1 : 0)
  }
  return { attempts, gone }
}

/** @param before the number of attempts before the first one of the pod */
function listInPod(pod: RunPod, before: number): readonly AttemptGroup[] {
  const podIndex = pod.pod_index ?? pod.name
  const found = pod.history.starts.flatMap((starts) => {
    const place = { podIndex, container: starts.name }
    return [
      ...starts.runs.map((run, index) => ({
        ...place,
        ...describeRun(run, phaseOf(run, pod, index === starts.runs.length - 1)),
        attempt: before + run.number,
      })),
      ...unknownAttempts(countStarts(starts) - starts.runs.length, place),
    ]
  })
  // The status of an evicted pod can have no containers.
  if (found.length > 0 || pod.phase !== 'Failed') return found
  const end = { reason: pod.reason, exitCode: null, signal: null }
  const place = { attempt: before + 1, podIndex, container: null }
  return [{ ...place, phase: 'Failed', ...end, ...NO_TIMES, count: 1 }]
}

const NO_CONTAINER = { podIndex: null, container: null }
const NO_END = { reason: null, exitCode: null, signal: null }
const NO_TIMES = { started: null, ended: null, seconds: null }

function unknownAttempts(
  count: number,
  place: Pick<AttemptGroup, 'podIndex' | 'container'>,
): readonly AttemptGroup[] {
  if (count <= 0) return []
  return [{ attempt: null, ...place, phase: 'Unknown', ...NO_END, ...NO_TIMES, count }]
}

function countStarts({ first, restarts, runs }: ContainerStarts): number {
  return first === undefined && restarts === 0
    ? 0
    : Math.max(restarts + 1, runs.at(-1)?.number ?? 0)
}

function phaseOf({ end }: ContainerRun, pod: RunPod, isLast: boolean): AttemptPhase {
  if (end !== null && isReplacedEnd(end)) return 'Failed'
  if (end !== null && end.exitCode !== null) return end.exitCode === 0 ? 'Succeeded' : 'Failed'
  const goesOn = end === null && isLast && !pod.isGone && !isTerminal(pod.phase)
  return goesOn ? 'Running' : 'Unknown'
}

function describeRun({ from, to, end }: ContainerRun, phase: AttemptPhase) {
  const ended = to ?? null
  const seconds = from === null || ended === null || ended < from ? null : (ended - from) / 1000
  return { phase, ...(end ?? NO_END), started: from, ended, seconds, count: 1 }
}
