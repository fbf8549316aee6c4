import fc from 'fast-check'
import t from 'tap'
import {
  dayFolder,
  isRunFolder,
  namespaceFolder,
  readDay,
  runFolder,
} from '../../../../src/runs/archive/rows-path.ts'

const START = Date.UTC(2026, 0, 31, 23, 59, 59)

t.test('the folders of a run are Hive partitions, by the UTC day of its start', async (t) => {
  t.equal(namespaceFolder('hpc'), 'namespace=hpc')
  t.equal(dayFolder(START), 'date=2026-01-31')
  t.equal(readDay('date=2026-01-31'), Date.UTC(2026, 0, 31))
  for (const other of ['lost+found', 'date=2026-1-1', 'date=2026-13-40'])
    t.equal(readDay(other), undefined, other)
  t.equal(runFolder('lammps-e37d7975', 1), 'run=lammps-e37d7975')
  t.equal(runFolder('lammps-e37d7975', 2), 'run=lammps-e37d7975.2')
  t.ok(isRunFolder('run=lammps-e37d7975', 'lammps-e37d7975'))
  t.ok(isRunFolder('run=lammps-e37d7975.12', 'lammps-e37d7975'))
  t.notOk(isRunFolder('run=lammps-e37d7975.x', 'lammps-e37d7975'))
  t.notOk(isRunFolder('run=lammps-e37d79755', 'lammps-e37d7975'))
})

/** Names as a hostile author of objects would choose them, if Kubernetes let them. */
const HOSTILE = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.constantFrom('..', '.', '', '/', '../../etc', 'a/b', 'a\u0000', 'a=b', 'A', '-a', 'a\n'),
  fc.stringMatching(/^[a-z][-a-z0-9.]{0,300}[a-z]$/),
)

t.test('no name leaves its folder, is too long for a file, or is that of another', (t) => {
  fc.assert(
    fc.property(HOSTILE, HOSTILE, (name, other) => {
      const folders = [namespaceFolder(name), runFolder(name, 1), runFolder(name, 9)]
      const areValid = folders.every((folder) =>
        /^\w+=[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(folder),
      )
      const areShort = folders.every((folder) => folder.length <= 255)
      const areOwn = name === other || runFolder(name, 1) !== runFolder(other, 1)
      return areValid && areShort && areOwn
    }),
    { numRuns: 2000 },
  )
  t.end()
})
