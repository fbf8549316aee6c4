import { minimum } from '../../../lib/statistics.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { storeOf } from '../../evidence/stores.ts'
import type { ProgramEnd } from '../../rules/program-end.ts'
import { type JobProcess, lastProcesses, type MpiJob, mpiJobs, ranksText } from './mpi-job.ts'
import { MPI_STORE } from './store.ts'
import { callText } from './stuck-text.ts'
import { waitingThreads } from './waiting-processes.ts'

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
    const reason = `${ranksText(same)} ${what}.`
    return { state: 'unfinished', reason, first: firstEnd(run.view(mpiJobs)) }
  }
  const { starting } = storeOf(run.stores, MPI_STORE)
  const begun = [...starting.values()].filter(({ call }) => call !== null).length
  if (begun > 0) {
    const count = begun === 1 ? 'One process' : `${begun} processes`
    const reason = `${count} had not returned from MPI_Init.`
    return { state: 'unfinished', reason, first: null }
  }
  return processes.length === 0 ? undefined : { state: 'finished' }
}

/** Returns which processes of a job ended while others waited in a call of MPI, in a sentence. */
function firstEnd(jobs: readonly MpiJob[]): string | null {
  for (const job of jobs) {
    const processes = lastProcesses(job)
    const ended = processes.filter(isLost)
    const at = minimum(ended.map(({ endedAt }) => endedAt))
    const first = ended.filter(({ endedAt }) => endedAt === at)
    const others = processes.filter((one) => !first.includes(one))
    const waiting = at === null ? [] : others.filter((one) => (one.open?.at ?? 0) >= at)
    const groups = [...Map.groupBy(waiting.flatMap(waitingThread), callText)]
    const [largest] = groups.sort(([, a], [, b]) => b.length - a.length)
    if (largest === undefined) continue
    const [call, own] = largest
    const waiters = ranksText(own.map(({ process }) => process))
    const said = `${ranksText(first)} ended first, without MPI_Finalize`
    return `${said}, while ${waiters} waited in ${call}.`
  }
  return null
}

/** Reports whether a process ended without MPI_Finalize. */
function isLost({ state, endedAt }: JobProcess): boolean {
  return endedAt !== null && state !== 'finalized'
}

function waitingThread(process: JobProcess) {
  const [thread] = waitingThreads(process.open)
  return thread === undefined ? [] : [{ process, thread }]
}
