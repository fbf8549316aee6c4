import type { JobProcess } from './mpi-job.ts'
import type { WaitingThread } from './open-calls.ts'

/** A collective call of a communicator. All members make the call with this number. */
export interface CollectiveCall {
  readonly communicator: string
  /** The number of the call on its communicator, from 1. */
  readonly number: number
}

/** What the processes that wait in a collective call have passed to it, as far as recorded. */
export interface CollectiveArguments {
  /** The names of the functions, without the suffix of their forms for large counts. */
  readonly functions: ReadonlySet<string>
  /** The roots, as ranks in MPI_COMM_WORLD. A root that is not known is missing. */
  readonly roots: ReadonlySet<number>
}

/** What must be the same in all members of a communicator, and is not (MPI 4.0, 6.4 and 6.14). */
export type CallDifference = 'function' | 'root'

/** Returns the collective call in which a thread is; undefined if it is in none. */
export function collectiveOf({ communicator, number }: WaitingThread): CollectiveCall | undefined {
  return communicator === null || number === null ? undefined : { communicator, number }
}

/** Returns a text that is the same for all members that are in a collective call. */
export function keyOf({ communicator, number }: CollectiveCall): string {
  return `${communicator} ${number}`
}

/**
 * Returns the arguments of the collective calls in which processes wait, by `keyOf`. A process that
 * is no member of the communicator does not count.
 *
 * @param waiting the threads of each process that wait
 * @param isMember whether a process is a member of a communicator
 */
export function argumentsIn(
  waiting: Iterable<readonly [JobProcess, readonly WaitingThread[]]>,
  isMember: (process: JobProcess, communicator: string) => boolean,
): ReadonlyMap<string, CollectiveArguments> {
  const inCalls = [...waiting].flatMap(([process, threads]) =>
    threads.flatMap((thread) => {
      const call = collectiveOf(thread)
      const isMeant = call !== undefined && isMember(process, call.communicator)
      return isMeant ? [{ key: keyOf(call), thread }] : []
    }),
  )
  const groups = [...Map.groupBy(inCalls, ({ key }) => key)]
  return new Map(groups.map(([key, own]) => [key, joinArguments(own.map(({ thread }) => thread))]))
}

function joinArguments(threads: readonly WaitingThread[]): CollectiveArguments {
  return {
    functions: new Set(threads.map(functionOf)),
    roots: new Set(threads.flatMap(({ peer }) => peer ?? [])),
  }
}

/** Returns what differs between the members that are in the same collective call. */
export function differenceIn({ functions, roots }: CollectiveArguments): CallDifference | null {
  if (functions.size > 1) return 'function'
  return roots.size > 1 ? 'root' : null
}

/** Returns the name of a function, without the suffix of its form for large counts. */
function functionOf({ call }: WaitingThread): string {
  return call.replace(/_c$/, '')
}
