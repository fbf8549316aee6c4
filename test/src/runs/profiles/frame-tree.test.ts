import t from 'tap'
import { addStack, CUT, newFrameTree } from '../../../../src/runs/profiles/frame-tree.ts'

t.test('stacks with the same outermost functions share frames', async (t) => {
  const tree = newFrameTree()
  const [a, b, again, other] = ['main;run;a', 'main;run;b', 'main;run;a', 'run;main'].map((stack) =>
    addStack(tree, stack),
  )
  t.equal(a, again)
  t.strictSame([a, b, other], [3, 4, 6])
  t.strictSame(tree.names, ['main', 'run', 'a', 'b'])
  t.strictSame(tree.parents, [0, 0, 1, 2, 2, 0, 5])
  t.strictSame(tree.functions, [-1, 0, 1, 2, 3, 1, 0])
})

t.test('a stack with too many frames ends with a frame for the rest', async (t) => {
  const tree = newFrameTree()
  const deep = Array.from({ length: 300 }, (_, index) => `f${index}`)
  const last = addStack(tree, deep.join(';'))
  t.equal(last, 256)
  t.equal(tree.names[tree.functions[last] ?? 0], CUT)
  t.equal(tree.names[tree.functions[last - 1] ?? 0], 'f254')
  const most = newFrameTree()
  t.equal(addStack(most, deep.slice(0, 256).join(';')), 256)
  t.notOk(most.names.includes(CUT), 'a stack of 256 frames is whole')
})

t.test('a long name is shortened, and empty names are frames', async (t) => {
  const tree = newFrameTree()
  addStack(tree, `main;${'x'.repeat(10_000)};;`)
  t.equal(tree.parents.length, 5)
  const [, long = '', empty] = tree.names
  t.equal(long.length, 512)
  t.match(long, /^x+\.\.\.$/)
  t.equal(empty, '')
})

t.test('a full tree knows its stacks, and gets no other ones', async (t) => {
  const tree = newFrameTree()
  const known = addStack(tree, 'main;run')
  t.equal(addStack(tree, 'main;run', 3), known)
  t.equal(addStack(tree, 'main;stop', 3), undefined)
  t.equal(tree.parents.length, 3)
})
