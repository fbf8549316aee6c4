import t from 'tap'
import { findLimitNames } from './limit-names.ts'

const find = (path: string, text: string) => findLimitNames({ path, text })

t.test('a limit that is not named MAX or MIN is a problem', async (t) => {
  t.strictSame(find('src/core/pod.ts', '\nconst LONGEST_NAME = 63'), [
    {
      path: 'src/core/pod.ts',
      line: 2,
      message: 'a limit begins with MAX, not LONGEST: LONGEST_NAME',
    },
  ])
  t.match(find('observer/crates/a/src/b.rs', 'const MOST: usize = 1;'), [{ message: /MAX.*MOST/ }])
  t.match(find('observer/torch/a.py', 'FEWEST_PAIRS = 20'), [{ message: /MIN.*FEWEST_PAIRS/ }])
  t.match(find('observer/mpi/a.h', '#define LEAST_REST 3'), [{ message: /MIN.*LEAST_REST/ }])
})

t.test('other names and documents may contain the words', async (t) => {
  t.strictSame(find('src/core/pod.ts', 'const MAX_NAME_LENGTH = 63 // ALMOST_ALL, the most'), [])
  t.strictSame(find('docs/a.md', 'MOST'), [])
})
