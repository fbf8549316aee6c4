import t from 'tap'
import { applyMutation, findMutations } from './mutations.ts'

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  'const a = b === c': ['const a = b !== c'],
  'if (a && b) f()': ['if (!(a && b)) f()', 'if (a || b) f()'],
  'const a = b ? c : d': ['const a = !(b) ? c : d'],
  'const a = [1, true]': ['const a = [(1 + 1), true]', 'const a = [1, false]'],
  'type A = 1 | true': [],
}

for (const [source, mutants] of Object.entries(EXAMPLES)) {
  t.test(`the mutants of ${source}`, async (t) => {
    const found = findMutations(source).map((mutation) => applyMutation(source, mutation))
    t.strictSame(found, mutants)
  })
}
