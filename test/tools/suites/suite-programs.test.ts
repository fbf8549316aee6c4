import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseList, readLists } from './suite-programs.ts'

t.test('a line of a list has a name, a number of processes, and options', async (t) => {
  t.strictSame(parseList('# all\n\nping\nring 4  arg=-n arg=a=b env=X=1 # slow\n!../lib:all\n'), [
    { name: 'ping', ranks: 2, options: [] },
    {
      name: 'ring',
      ranks: 4,
      options: [
        ['arg', '-n'],
        ['arg', 'a=b'],
        ['env', 'X=1'],
      ],
    },
  ])
})

t.test('a list names programs, and folders with lists of their own', async (t) => {
  const suite = t.testdir({ list: 'point\n#left\n', more: 'point\n' })
  mkdirSync(join(suite, 'point'))
  writeFileSync(join(suite, 'point', 'list'), 'ring 4 arg=-n env=X=1=2 mpiexecarg=-l timeLimit=9\n')
  writeFileSync(join(suite, 'point', 'more'), 'ring\n')
  const folder = join(suite, 'point')
  const ring = { folder, build: ['make', 'ring'], launcher: [], words: ['./ring'], env: {} }
  t.strictSame(readLists(suite, ['list', 'more', 'none']), [
    {
      ...ring,
      title: 'point/ring 4 X=1=2 -n',
      ranks: 4,
      launcher: ['-l'],
      words: ['./ring', '-n'],
      env: { X: '1=2' },
    },
    { ...ring, title: 'point/ring 2', ranks: 2 },
  ])
})
