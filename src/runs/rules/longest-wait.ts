import type { RunEvidence } from '../evidence/run-evidence.ts'
import type { ProfileByPod } from '../profiles/profile-by-pod.ts'

/** A line of Python, and the least seconds for which a main thread of a pod waited in it. */
export interface WaitingLine {
  readonly name: string
  readonly seconds: number
}

/**
 * Returns for each pod the line in which the main thread of its Python program waited for the
 * longest time. Of several programs, it is the one that ran longest: a launcher, such as torchrun,
 * waits all the time. Of several processes, one waited for at least their mean.
 */
export function longestWaits({ profiles }: RunEvidence): ReadonlyMap<string, WaitingLine> {
  const workers = workersIn(profiles)
  const counted = new Set([...workers.values()].map((one) => one.profile))
  const longest = new Map<string, WaitingLine>()
  // A run can have thousands of pods and lines, and most lines are those of few pods.
  for (const profile of counted)
    for (const { pod, name, seconds } of linesOf(profile))
      if (workers.get(pod)?.profile === profile && seconds > (longest.get(pod)?.seconds ?? 0))
        longest.set(pod, { name, seconds })
  return longest
}

/** Yields the lines in which the main threads of each pod waited. */
function* linesOf({
  pods,
  processes,
  functions,
}: ProfileByPod): Generator<WaitingLine & { readonly pod: string }> {
  for (const { name, times } of functions)
    for (const [place, { self }] of times)
      yield { pod: pods[place] ?? '', name, seconds: self / Math.max(processes[place] ?? 0, 1) }
}

/** Returns the program of each pod whose lines count. */
function workersIn(profiles: readonly ProfileByPod[]): ReadonlyMap<string, Worker> {
  const running = new Map(
    profiles.filter(({ kind }) => kind === 'running').map((one) => [one.executable, timesOf(one)]),
  )
  const workers = new Map<string, Worker>()
  for (const profile of profiles.filter(({ kind }) => kind === 'waiting'))
    for (const [place, pod] of profile.pods.entries()) {
      const runs = running.get(profile.executable)?.get(pod) ?? 0
      const worker = { profile, runs, waits: profile.seconds[place] ?? 0 }
      if (isLonger(worker, workers.get(pod))) workers.set(pod, worker)
    }
  return workers
}

/** The program of a pod, with the seconds for which its main threads ran and waited. */
interface Worker {
  readonly profile: ProfileByPod
  readonly runs: number
  readonly waits: number
}

function isLonger(one: Worker, other: Worker | undefined): boolean {
  if (other === undefined) return true
  return one.runs === other.runs ? one.waits > other.waits : one.runs > other.runs
}

function timesOf({ pods, seconds }: ProfileByPod): ReadonlyMap<string, number> {
  return new Map(pods.map((pod, place) => [pod, seconds[place] ?? 0]))
}
