import { rounded } from '../../../lib/round.ts'
import { type KeptFrames, keepFrames } from '../../profiles/kept-frames.ts'
import { type ProgramProfile, stacksIn } from '../../profiles/profile-run.ts'

/** The stacks of a program as a tree of frames; frame 0 is the root, which is no function. */
export interface FlameData extends Omit<KeptFrames, 'placeOf'> {
  /** For all pods, the seconds in each frame itself, without the frames below it. */
  readonly seconds: readonly number[]
  /** The same of single pods, as far as they fit into the page. */
  readonly single: readonly SinglePod[]
}

/** The frames in which a pod spent time, without the frames below them. */
export interface SinglePod {
  readonly pod: string
  readonly frames: readonly number[]
  /** For each frame of `frames`, the seconds in the frame itself. */
  readonly seconds: readonly number[]
}

/** The most frames of the page, and the most frames of all single pods together. */
const MAX_FRAMES = 20_000
const MAX_SINGLE = 200_000

/**
 * Merges the stacks of all pods, and keeps the frames with the most time.
 *
 * @param order the pods in the order in which they get room as single pods
 * @param share the number of programs that share the room of the page
 */
export function flameData(
  { tree, logs }: ProgramProfile,
  order: readonly string[],
  podOf: (source: string) => string,
  share: number,
): FlameData {
  const stacks = new Map<string, number[]>()
  for (const [source, log] of logs) {
    const before = stacks.get(podOf(source))
    stacks.set(podOf(source), before === undefined ? log.stacks : before.concat(log.stacks))
  }
  const all = new Float64Array(tree.parents.length)
  for (const own of stacks.values()) addTimes(own, (frame, seconds) => addAt(all, frame, seconds))
  const { placeOf, ...kept } = keepFrames(tree, all, Math.floor(MAX_FRAMES / share))
  const seconds = new Float64Array(kept.parents.length)
  for (const [frame, own] of all.entries()) addAt(seconds, placeOf[frame] ?? 0, own)
  const singles = order.map((pod) => singlePod(pod, stacks.get(pod) ?? [], placeOf))
  return {
    names: kept.names,
    parents: kept.parents,
    functions: kept.functions,
    seconds: Array.from(seconds, rounded),
    single: fitting(singles, Math.floor(MAX_SINGLE / share)),
  }
}

function addTimes(stacks: readonly number[], add: (frame: number, seconds: number) => void): void {
  for (const [, frame, seconds] of stacksIn({ stacks })) add(frame, seconds)
}

function addAt(times: Float64Array, index: number, seconds: number): void {
  times[index] = (times[index] ?? 0) + seconds
}

function singlePod(pod: string, stacks: readonly number[], placeOf: Int32Array): SinglePod {
  const times = new Map<number, number>()
  addTimes(stacks, (frame, seconds) => {
    const place = placeOf[frame] ?? 0
    times.set(place, (times.get(place) ?? 0) + seconds)
  })
  return { pod, frames: [...times.keys()], seconds: Array.from(times.values(), rounded) }
}

/** Returns the pods that fit, in their order. */
function fitting(pods: Iterable<SinglePod>, most: number): readonly SinglePod[] {
  let room = most
  const kept: SinglePod[] = []
  for (const pod of pods) {
    if (pod.frames.length > room) continue
    room -= pod.frames.length
    kept.push(pod)
  }
  return kept
}
