import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  POINT_TO_POINT,
  WAITING_FOR_ALL,
} from '../../../../../src/runs/metrics/mpi-trace/call-kinds.ts'

const SOURCE = readFileSync(new URL('../../../../../observer/mpi/calls.h', import.meta.url), 'utf8')

/** Returns the names of the calls that a part of the recorder's list declares. */
function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/^CALL(_C|_L)?\((\w+),/gm)].flatMap(([, kind, name]) => {
    return kind === '_L' ? [`MPI_${name}`, `MPI_${name}_c`] : [`MPI_${name}`]
  })
}

t.test('the calls that wait for all members are those of the recorder', async (t) => {
  const entries = SOURCE.split(/^(?=CALL)/m).filter((entry) => /^CALL[^;]*\.waits = 1/.test(entry))
  t.ok(entries.length > 10)
  t.strictSame([...WAITING_FOR_ALL].sort(), [...namesIn(entries.join('\n'))].sort())
})

t.test('the calls of point-to-point communication are those of the recorder', async (t) => {
  const [, part = ''] = SOURCE.split('// Point-to-point communication')
  const calls = namesIn(part.split('// Collective communication')[0] ?? '')
  t.ok(calls.length > 40)
  t.strictSame([...POINT_TO_POINT].sort(), [...calls].sort())
})
