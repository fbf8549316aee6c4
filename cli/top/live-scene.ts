import { describeApiError } from '../../src/cluster/api-error.ts'
import { createPause } from '../../src/lib/pause.ts'
import type { WorkloadPods } from '../../src/runs/collect/workload-pods.ts'
import { startAssessor } from '../../src/runs/top/findings/assessment.ts'
import type { FoundPod } from '../shared/workload-pods.ts'
import type { Scene } from './interactive.ts'
import type { LiveRun } from './live-run.ts'
import { followStream, type LogStream, type StreamOptions, settleStreams } from './log-streams.ts'
import { listNotices } from './notices.ts'
import { createOpeningGate } from './opening-gate.ts'
import type { TimeSoFar } from './time-so-far.ts'

interface State {
  readonly found: WorkloadPods<FoundPod>
  readonly run: LiveRun
  readonly time: TimeSoFar
  /** The most logs that are followed at a time. */
  readonly parallel: number
  /** Why the pods could not be listed; undefined if the last list succeeded. */
  problem: string | undefined
}

/**
 * Returns the pods of a run in the cluster.
 *
 * @param parallel the most logs that are followed at a time
 */
export function liveScene(
  found: WorkloadPods<FoundPod>,
  run: LiveRun,
  time: TimeSoFar,
  parallel: number,
): Scene {
  const state: State = { found, run, time, parallel, problem: undefined }
  return {
    heading: () => `${found.words} in ${found.namespace}`,
    pods: run.pods,
    columns: run.columns,
    time: () => time.read()?.sentence,
    assessor: startAssessor(() => performance.now()),
    notices: () => listNotices(run, found, state.problem),
    update: () => {
      settleStreams(run.streams())
      return Date.now()
    },
    follow: (signal) => followRun(state, signal),
  }
}

/** Follows the logs of all observers, and lists the pods again from time to time. */
async function followRun(state: State, signal: AbortSignal): Promise<void> {
  const { found, run, parallel } = state
  const options = { apiserver: found.apiserver, gate: createOpeningGate(), signal }
  const pace = createLookPace(signal)
  while (!signal.aborted) {
    followMore(run, parallel, options, pace.hurry)
    await pace.wait(run.pods().length)
    if (!signal.aborted) await look(state)
  }
}

/** Starts to follow logs until there are as many as are allowed. */
function followMore(run: LiveRun, most: number, options: StreamOptions, onEnd: () => void): void {
  const streams = run.streams()
  let followed = streams.filter(({ isFollowed }) => isFollowed).length
  const waiting = streams.filter(canBeFollowed)
  // The values of the pods are worth more than the progress of some of them.
  for (const stream of waiting.sort((a, b) => Number(b.isShown) - Number(a.isShown))) {
    if (followed >= most) return
    followed += 1
    followStream(stream, options, onEnd)
  }
}

function canBeFollowed({ isFollowed, isOver, hasStarted }: LogStream): boolean {
  return hasStarted && !isFollowed && !isOver
}

async function look(state: State): Promise<void> {
  try {
    const pods = await state.found.find()
    state.run.take(pods)
    state.time.take(pods)
    state.problem = undefined
  } catch (error) {
    state.problem = describeApiError(error)
  }
}

/** Decides when the pods are listed again. */
interface LookPace {
  /**
   * Waits until the pods are to be listed again, or until the signal is aborted.
   *
   * @param pods the number of pods, on which the cost of a list depends
   */
  readonly wait: (pods: number) => Promise<void>
  /** Requests an early list, because a log has ended. */
  readonly hurry: () => void
}

/** Milliseconds between two lists of the pods: `LOOK_MS_PER_POD` for each pod, within limits. */
const LOOK_MS = 2000
const LOOK_MS_PER_POD = 10
const LOOK_MOST_MS = 30_000

/** After an early list, the next one is not early, so that logs that end one by one cost little. */
export function createLookPace(signal: AbortSignal): LookPace {
  const rest = createPause(signal)
  const pause = createPause(signal)
  let wasEarly = false
  return {
    hurry: pause.end,
    wait: async (pods) => {
      const usualMs = Math.min(LOOK_MOST_MS, pods * LOOK_MS_PER_POD)
      await rest.wait(LOOK_MS)
      const current = wasEarly ? rest : pause
      wasEarly = await current.wait(Math.max(0, usualMs - LOOK_MS))
    },
  }
}
