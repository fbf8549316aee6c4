import t from 'tap'
import { addStack, newFrameTree } from '../../../../src/runs/profiles/frame-tree.ts'
import { keepFrames, SMALLER } from '../../../../src/runs/profiles/kept-frames.ts'

/** Keeps frames of these stacks, and returns the stacks that are left with their seconds. */
function keep(stacks: Readonly<Record<string, number>>, most: number) {
  const tree = newFrameTree()
  const ends = Object.entries(stacks).map(([stack, seconds]) => [addStack(tree, stack), seconds])
  const self = new Float64Array(tree.parents.length)
  for (const [frame = 0, seconds = 0] of ends) self[frame] = seconds
  const { names, parents, functions, placeOf } = keepFrames(tree, self, most)
  const nameOf = (frame: number): string => {
    const [parent = 0, name = ''] = [parents[frame], names[functions[frame] ?? -1]]
    return parent === 0 ? name : `${nameOf(parent)};${name}`
  }
  const kept: Record<string, number> = {}
  for (const [frame, seconds] of self.entries()) {
    const name = nameOf(placeOf[frame] ?? 0)
    if (seconds > 0) kept[name] = (kept[name] ?? 0) + seconds
  }
  return kept
}

const STACKS = { 'main;a': 50, 'main;b;c;d': 3, 'main;b;e': 2, 'init;x': 1, 'init;y': 1, main: 4 }

t.test('all frames are kept if they fit', async (t) => {
  t.strictSame(keep(STACKS, 10), STACKS)
})

t.test('the time of frames that do not fit is that of one smaller frame', async (t) => {
  t.strictSame(keep(STACKS, 4), {
    'main;a': 50,
    'main;b;(smaller frames)': 5,
    [SMALLER]: 2,
    main: 4,
  })
  t.strictSame(keep(STACKS, 3), { 'main;a': 50, 'main;(smaller frames)': 5, [SMALLER]: 2, main: 4 })
})

t.test('of frames with the same time, only as many as fit are kept', async (t) => {
  const equal = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, 1]))
  const kept = keep(equal, 11)
  t.equal(Object.keys(kept).length, 11)
  t.equal(kept[SMALLER], 90)
})
