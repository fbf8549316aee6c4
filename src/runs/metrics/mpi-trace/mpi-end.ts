import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { storeOf } from '../../evidence/stores.ts'
import type { ProgramEnd } from '../../rules/program-end.ts'
import { mpiJobs, ranksText } from './mpi-job.ts'
import { MPI_STORE } from './store.ts'

/** What processes did that returned from MPI_Init and have not called MPI_Finalize. */
const WITHOUT_FINALIZE: Readonly<Record<string, string>> = {
  running: 'had not called MPI_Finalize when the log ended',
  exited: 'ended without MPI_Finalize',
  aborted: 'called MPI_Abort',
  lost: 'ended without MPI_Finalize, for example because of a signal',
}

/**
 * Returns whether all processes of MPI that were recorded have called MPI_Finalize, as the standard
 * demands (MPI 4.1, section 11.2.2); undefined if none was recorded.
 */
export function mpiEnd(run: RunEvidence): ProgramEnd | undefined {
  const processes = run.view(mpiJobs).flatMap((job) => job.processes)
  const open = processes.filter(({ state }) => state !== 'finalized')
  const [first] = open
  if (first !== undefined) {
    const same = open.filter(({ state }) => state === first.state)
    const what = WITHOUT_FINALIZE[first.state ?? ''] ?? 'did not call MPI_Finalize'
    return { state: 'unfinished', reason: `${ranksText(same)} ${what}.` }
  }
  const { starting } = storeOf(run.stores, MPI_STORE)
  const begun = [...starting.values()].filter(({ call }) => call !== null).length
  if (begun > 0) {
    const count = begun === 1 ? 'One process' : `${begun} processes`
    return { state: 'unfinished', reason: `${count} had not returned from MPI_Init.` }
  }
  return processes.length === 0 ? undefined : { state: 'finished' }
}
