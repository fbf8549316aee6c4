import { rounded } from '../../../lib/round.ts'
import { type KeptFrames, keepFrames } from '../../profiles/kept-frames.ts'
import { type ProgramProfile, stacksIn } from '../../profiles/profile-run.ts'

/** The stacks of a program as a tree of frames; frame 0 is the root, which is no function. */
export interface FlameData extends Omit<KeptFrames, 'placeOf'> {
  /** For all ranks, the seconds in each frame itself, without the frames below it. */
  readonly seconds: readonly number[]
  /** The same of single ranks, as far as they fit into the page. */
  readonly single: readonly SingleRank[]
}

/** The frames in which a rank spent time, without the frames below them. */
export interface SingleRank {
  readonly rank: string
  readonly frames: readonly number[]
  /** For each frame of `frames`, the seconds in the frame itself. */
  readonly seconds: readonly number[]
}

/** The most frames of the page, and the most frames of all single ranks together. */
const MAX_FRAMES = 20_000
const MAX_SINGLE = 200_000

/**
 * Merges the stacks of all ranks, and keeps the frames with the most time.
 *
 * @param order the ranks in the order in which they get room as single ranks
 * @param share the number of programs that share the room of the page
 */
export function flameData(
  { tree, logs }: ProgramProfile,
  order: readonly string[],
  rankOf: (source: string) => string,
  share: number,
): FlameData {
  const stacks = new Map<string, number[]>()
  for (const [source, log] of logs) {
    const before = stacks.get(rankOf(source))
    stacks.set(rankOf(source), before === undefined ? log.stacks : before.concat(log.stacks))
  }
  const all = new Float64Array(tree.parents.length)
  for (const own of stacks.values()) addTimes(own, (frame, seconds) => addAt(all, frame, seconds))
  const { placeOf, ...kept } = keepFrames(tree, all, Math.floor(MAX_FRAMES / share))
  const seconds = new Float64Array(kept.parents.length)
  for (const [frame, own] of all.entries()) addAt(seconds, placeOf[frame] ?? 0, own)
  const singles = order.map((rank) => singleRank(rank, stacks.get(rank) ?? [], placeOf))
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

function singleRank(rank: string, stacks: readonly number[], placeOf: Int32Array): SingleRank {
  const times = new Map<number, number>()
  addTimes(stacks, (frame, seconds) => {
    const place = placeOf[frame] ?? 0
    times.set(place, (times.get(place) ?? 0) + seconds)
  })
  return { rank, frames: [...times.keys()], seconds: Array.from(times.values(), rounded) }
}

/** Returns the ranks that fit, in their order. */
function fitting(ranks: Iterable<SingleRank>, most: number): readonly SingleRank[] {
  let room = most
  const kept: SingleRank[] = []
  for (const rank of ranks) {
    if (rank.frames.length > room) continue
    room -= rank.frames.length
    kept.push(rank)
  }
  return kept
}
