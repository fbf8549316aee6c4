import { readFileSync } from 'node:fs'
import t from 'tap'
import { POINT_TO_POINT, WAITING_FOR_ALL } from '../../../src/mpi/call-kinds.ts'

const SOURCE = readFileSync(new URL('../../../observer/mpi/calls.h', import.meta.url), 'utf8')

/** Returns the names of the calls that a part of the recorder's list declares. */
function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/^CALL(?:_C)?\((\w+),/gm)].map(([, name]) => `MPI_${name}`)
}

t.test('the calls that wait for all members are those of the recorder', async (t) => {
  const lines = SOURCE.split('\n').filter((line) => /^CALL.*\.waits = 1/.test(line))
  t.ok(lines.length > 10)
  t.strictSame([...WAITING_FOR_ALL].sort(), [...namesIn(lines.join('\n'))].sort())
})

t.test('the calls of point-to-point communication are those of the recorder', async (t) => {
  const [, part = ''] = SOURCE.split('// Point-to-point communication')
  const small = namesIn(part.split('// Collective communication')[0] ?? '')
  const large = namesIn(SOURCE).filter((name) => small.some((one) => name === `${one}_c`))
  t.ok(small.length > 30 && large.length > 3)
  t.strictSame([...POINT_TO_POINT].sort(), [...small, ...large].sort())
})
