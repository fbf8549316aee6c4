import type { FrameTree } from './frame-tree.ts'

/** The frames of a tree with the most time. Frame 0 is the root. */
export interface KeptFrames {
  /** The names of the functions. */
  readonly names: string[]
  /** The number of each frame's parent. It is less than the frame's own number (0 for the root). */
  readonly parents: number[]
  /** The index in `names` of each frame; -1 for the root. */
  readonly functions: number[]
  /** For each frame of the tree, the kept frame to which its time belongs. */
  readonly placeOf: Int32Array
}

/** The name of a frame that stands for frames that were too small to be kept. */
export const SMALLER = '(smaller frames)'

/**
 * Keeps the frames with the most total time, which is the time in the frame itself and in all
 * frames below it. The other frames below a kept frame become one frame with the name
 * `(smaller frames)`.
 *
 * @param self the seconds in each frame itself
 * @param most the number of frames to keep
 */
export function keepFrames(tree: FrameTree, self: Float64Array, most: number): KeptFrames {
  const isKept = chooseFrames(totalsOf(tree, self), most)
  const kept: Growing = {
    names: [],
    parents: [0],
    functions: [-1],
    placeOf: new Int32Array(self.length),
    numberOf: new Map(),
    smaller: new Map(),
  }
  for (let frame = 1; frame < self.length; frame++) place(kept, tree, frame, isKept)
  return kept
}

interface Growing extends KeptFrames {
  readonly numberOf: Map<string, number>
  /** The number of the frame `(smaller frames)` below each kept frame that has one. */
  readonly smaller: Map<number, number>
}

function place(kept: Growing, tree: FrameTree, frame: number, isKept: Uint8Array): void {
  const { placeOf } = kept
  const parent = tree.parents[frame] ?? 0
  const above = placeOf[parent] ?? 0
  const name = tree.names[tree.functions[frame] ?? -1] ?? ''
  if (isKept[frame] === 1) placeOf[frame] = addFrame(kept, above, name)
  else placeOf[frame] = isKept[parent] === 1 ? smallerBelow(kept, above) : above
}

/** Returns the frame for the smaller frames below a kept frame. */
function smallerBelow(kept: Growing, parent: number): number {
  const frame = kept.smaller.get(parent) ?? addFrame(kept, parent, SMALLER)
  kept.smaller.set(parent, frame)
  return frame
}

function addFrame({ names, parents, functions, numberOf }: Growing, parent: number, name: string) {
  const number = numberOf.get(name) ?? names.push(name) - 1
  numberOf.set(name, number)
  functions.push(number)
  return parents.push(parent) - 1
}

function totalsOf({ parents }: FrameTree, self: Float64Array): Float64Array {
  const totals = Float64Array.from(self)
  for (let frame = totals.length - 1; frame > 0; frame--) {
    const parent = parents[frame] ?? 0
    totals[parent] = (totals[parent] ?? 0) + (totals[frame] ?? 0)
  }
  return totals
}

/**
 * Returns 1 for each frame that is kept. The total of a frame is at most that of its parent, which
 * has a lower number, so the parents of kept frames are kept.
 */
function chooseFrames(totals: Float64Array, most: number): Uint8Array {
  if (totals.length <= most) return new Uint8Array(totals.length).fill(1)
  const least = Float64Array.from(totals).sort()[totals.length - most] ?? 0
  let equal = most - totals.reduce((count, total) => count + (total > least ? 1 : 0), 0)
  return Uint8Array.from(totals, (total) => {
    if (total !== least) return total > least ? 1 : 0
    equal -= 1
    return equal >= 0 ? 1 : 0
  })
}
