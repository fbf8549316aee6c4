import t from 'tap'
import type { Sample } from '../../../../../src/runs/log/columns.ts'
import {
  addOpenCall,
  type ObservedCalls,
} from '../../../../../src/runs/metrics/mpi-trace/open-calls.ts'

/** Adds a row for each timepoint, 10 s apart: the call of a thread, and since when. */
function callsOf(rows: readonly (readonly [call: string | null, since: number])[]) {
  const process: ObservedCalls = { open: null, active: 0, begun: new Map() }
  for (const [timepoint, [call, since]] of rows.entries()) {
    const row = { timepoint, seconds: 10 * timepoint, elapsed: 10 * timepoint, thread: 1 }
    addOpenCall(process, { ...row, call, since, section: 'open' } as unknown as Sample)
  }
  return process.open
}

t.test('the longest call that has ended is as long as it was seen', async (t) => {
  const long = [
    ['MPI_Bcast', 3],
    ['MPI_Bcast', 3],
    ['MPI_Bcast', 3],
  ] as const
  t.equal(callsOf(long)?.longestCall, 0, 'it goes on')
  t.equal(callsOf([...long, ['MPI_Bcast', 25], ['MPI_Bcast', 25]])?.longestCall, 17)
  const short = [...long, [null, 21], ['MPI_Barrier', 35], [null, 41], [null, 41]] as const
  t.equal(callsOf(short)?.longestCall, 17, 'a later call was shorter')
  t.equal(
    callsOf([
      [null, 0],
      [null, 0],
      ['MPI_Barrier', 19],
    ])?.longestCall,
    0,
  )
})
