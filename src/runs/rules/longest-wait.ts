import type { PodEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import type { ProfileByPod } from '../profiles/profile-by-pod.ts'

/** A line of Python, and the least seconds for which a main thread of a pod waited in it. */
export interface WaitingLine {
  readonly name: string
  readonly seconds: number
}

/**
 * Returns the line in which the main thread of a pod's Python program waited for the longest time;
 * undefined if none was sampled. Of several programs, it is the one that ran longest: a launcher,
 * such as torchrun, waits all the time. Of several processes, one waited for at least their mean.
 */
export function longestWait({ profiles }: RunEvidence, pod: PodEvidence): WaitingLine | undefined {
  const secondsOf = ({ pods, seconds }: ProfileByPod) => seconds[pods.indexOf(pod.pod)] ?? 0
  const own = profiles.filter(({ pods }) => pods.includes(pod.pod))
  const running = new Map(
    own.flatMap((one) => (one.kind === 'running' ? [[one.executable, secondsOf(one)]] : [])),
  )
  const runs = ({ executable }: ProfileByPod) => running.get(executable) ?? 0
  const [worker] = own
    .filter(({ kind }) => kind === 'waiting')
    .sort((a, b) => runs(b) - runs(a) || secondsOf(b) - secondsOf(a))
  if (worker === undefined) return undefined
  const { pods, functions, processes } = worker
  const place = pods.indexOf(pod.pod)
  const count = Math.max(processes[place] ?? 0, 1)
  // Not sorted: a run can have thousands of pods and lines.
  let longest: WaitingLine | undefined
  for (const { name, times } of functions) {
    const seconds = (times.get(place)?.self ?? 0) / count
    if (longest === undefined || seconds > longest.seconds) longest = { name, seconds }
  }
  return longest
}
