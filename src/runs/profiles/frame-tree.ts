/**
 * The stacks of functions of several processes, merged into one tree. A frame is a function that
 * was called by the frames above it. Frame 0 is the root, which is no function. The number of a
 * frame is greater than that of its parent.
 */
export interface FrameTree {
  /** The names of the functions. */
  readonly names: string[]
  /** The parent of each frame; 0 for the root. */
  readonly parents: number[]
  /** The index in `names` of each frame; -1 for the root. */
  readonly functions: number[]
  readonly numberOf: Map<string, number>
  /** The frames by their parents and functions; see `addChild`. */
  readonly children: Map<number, number>
}

/** The most frames of a stack; the profiler of gperftools records at most 254. */
const MAX_DEPTH = 256
/** The name of a frame that stands for frames that were cut off. */
export const CUT = '...'
/** The most characters of a name. */
const MAX_NAME_LENGTH = 512
/** A number above all indexes of names. */
const NAMES = 2 ** 26

export function newFrameTree(): FrameTree {
  return { names: [], parents: [0], functions: [-1], numberOf: new Map(), children: new Map() }
}

/**
 * Returns the innermost frame of a stack, and adds the frames of the stack that are new. If a frame
 * is new and the tree is full, returns undefined.
 *
 * @param stack the names of the functions, the outermost first, separated by semicolons. Long names
 * are shortened, and the innermost frames of a stack with more than 256 frames are one frame
 * @param most the number of frames of a full tree
 */
export function addStack(tree: FrameTree, stack: string, most: number): number | undefined
export function addStack(tree: FrameTree, stack: string): number
export function addStack(
  tree: FrameTree,
  stack: string,
  most = Number.POSITIVE_INFINITY,
): number | undefined {
  const names = stack.split(';', MAX_DEPTH + 1)
  if (names.length > MAX_DEPTH) names.splice(MAX_DEPTH - 1, 2, CUT)
  let frame = 0
  for (const name of names) {
    const known = findChild(tree, frame, name)
    if (known === undefined && tree.parents.length >= most) return undefined
    frame = known ?? addChild(tree, frame, numberOf(tree, name))
  }
  return frame
}

/** Returns a name with at most 512 characters; a longer name is cut. */
export function shortName(name: string): string {
  return name.length > MAX_NAME_LENGTH
    ? `${name.slice(0, MAX_NAME_LENGTH - CUT.length)}${CUT}`
    : name
}

function numberOf({ names, numberOf: known }: FrameTree, name: string): number {
  const short = shortName(name)
  const number = known.get(short)
  if (number !== undefined) return number
  known.set(short, names.length)
  return names.push(short) - 1
}

function findChild({ children, numberOf: known }: FrameTree, parent: number, name: string) {
  const number = known.get(shortName(name))
  return number === undefined ? undefined : children.get(parent * NAMES + number)
}

function addChild({ parents, functions, children }: FrameTree, parent: number, name: number) {
  const frame = parents.push(parent) - 1
  functions.push(name)
  children.set(parent * NAMES + name, frame)
  return frame
}

/** Returns for each frame whether its function or one that called it has a name that matches. */
export function findFrames(
  { names, parents, functions }: FrameTree,
  name: RegExp,
): readonly boolean[] {
  const matching = names.map((one) => name.test(one))
  // The number of a frame is greater than that of its parent.
  const isIn: boolean[] = []
  for (const [frame, parent] of parents.entries())
    isIn.push(isIn[parent] === true || matching[functions[frame] ?? -1] === true)
  return isIn
}
