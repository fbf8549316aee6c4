import { maximum } from '../../../lib/statistics.ts'
import { type RunEvidence, stackFinder } from '../../evidence/run-evidence.ts'
import { storeOf } from '../../evidence/stores.ts'
import { libraryRanks } from '../../rules/sentence.ts'
import type { CurrentStack } from '../../waiting/current-stacks.ts'
import type { MpiProcess, MpiRun } from './mpi-run.ts'
import { MPI_STORE } from './store.ts'

/** The processes of one MPI_COMM_WORLD. */
export interface MpiJob {
  /** The identifier of the job; null if the launcher sets none. */
  readonly job: string | null
  /** The number of processes of MPI_COMM_WORLD. */
  readonly size: number
  /** The processes that have rows, in the order of their ranks in MPI_COMM_WORLD. */
  readonly processes: readonly JobProcess[]
  /**
   * Why the processes that have rows cannot be compared; null if they can, also if others have no
   * rows.
   */
  readonly conflict: string | null
  /** Why not all processes can be compared: the conflict, or the number of those without rows. */
  readonly problem: string | null
}

export interface JobProcess extends MpiProcess {
  /** The rank in MPI_COMM_WORLD. */
  readonly rank: number
  /** The pod of the process, as reports name it. */
  readonly pod: string
  /** Where its main thread is in Python, if python-profile was collected. */
  readonly python?: CurrentStack
}

/** Returns the MPI jobs whose calls were recorded. */
export function mpiJobs({ stores, podOf, view }: RunEvidence): readonly MpiJob[] {
  return joinJobs(storeOf(stores, MPI_STORE), podOf, view(stackFinder))
}

/**
 * Groups processes by MPI job. A job can have processes in several pods. A process whose MPI
 * library is not known belongs to no job.
 *
 * A job consists of the processes with the same job identifier and the same size. Without an
 * identifier, as with the launcher of MPICH, all processes of one size form a job. A job has a
 * `problem` if a rank is missing or exists twice, or if processes without an identifier have
 * different programs or libraries.
 *
 * @param podOf returns the pod of a log, as reports name it
 * @param pythonOf returns the current stack of Python of a process of such a pod
 */
export function joinJobs(
  { processes }: Pick<MpiRun, 'processes'>,
  podOf: (source: string) => string,
  pythonOf: (pod: string, pid: number | null) => CurrentStack | undefined = () => undefined,
): readonly MpiJob[] {
  const known = processes.flatMap((process) => {
    const { rank, source, pid } = process
    if (rank === null) return []
    const pod = podOf(source)
    const python = pythonOf(pod, pid)
    return [{ ...process, rank, pod, ...(python && { python }) }]
  })
  const jobs = Map.groupBy(known, ({ job, size }) => JSON.stringify([job, size]))
  return [...jobs.values()].map((own) => {
    const [{ job, size }] = own as [JobProcess]
    const sorted = [...own].sort((a, b) => a.rank - b.rank)
    const conflict = conflictIn(sorted)
    return { job, size, processes: sorted, conflict, problem: conflict ?? missingIn(sorted) }
  })
}

/** Returns the ranks of processes in a sentence: `MPI ranks 0-1 and 3`. */
export function ranksText(processes: readonly Pick<JobProcess, 'rank'>[]): string {
  return libraryRanks('MPI', [...new Set(processes.map(({ rank }) => rank))])
}

function missingIn(processes: readonly JobProcess[]): string | null {
  const [{ job, size }] = processes as [JobProcess]
  if (processes.length >= size) return null
  const count = `${processes.length} of the ${size} processes`
  return `mpi-trace has rows of only ${count} of ${nameOf(job)}`
}

/**
 * Returns the processes of a job without those that ended before another one of it had begun: they
 * belong to an earlier job, which cannot be told apart without an identifier. The list is empty if
 * several processes have the same rank nevertheless.
 */
export function lastProcesses({ processes: all }: MpiJob): readonly JobProcess[] {
  const began = all.map(({ open }) => (open?.at == null ? 0 : open.at - open.elapsed))
  const last = maximum(began) ?? 0
  const processes = all.filter(({ endedAt }) => endedAt === null || endedAt >= last)
  const ranks = new Set(processes.map(({ rank }) => rank))
  return ranks.size < processes.length ? [] : processes
}

function nameOf(job: string | null): string {
  return job === null ? 'the MPI job, which has no identifier' : `the MPI job ${job}`
}

/** @param processes the processes of a job, in the order of their ranks */
function conflictIn(processes: readonly JobProcess[]): string | null {
  const [{ job }] = processes as [JobProcess]
  const twice = processes.find(({ rank }, index) => processes[index + 1]?.rank === rank)
  if (twice !== undefined) return `several processes have the rank ${twice.rank} of ${nameOf(job)}`
  const kinds = new Set(processes.map(({ program, library }) => JSON.stringify([program, library])))
  return job === null && kinds.size > 1
    ? 'processes of different programs or MPI libraries cannot be joined without an identifier ' +
        'of the MPI job'
    : null
}
