import { maximum } from '../../../lib/statistics.ts'
import type {
  AbsentMember,
  StartingMember,
  StuckStart,
} from '../../metrics/mpi-trace/stuck-start.ts'
import { startingName } from './start-text.ts'

/**
 * The seconds after which processes that wait in MPI_Init are named, and any process that has begun
 * no collective call.
 */
export const MIN_STARTING = 300

/**
 * Returns the processes that wait in MPI_Init, if that counts, with the late processes that count.
 * A process that loads its program and its input can take minutes.
 */
export function countedStart(stuck: StuckStart): readonly StuckStart[] {
  const longest = maximum(stuck.waiting.map(({ waited }) => waited)) ?? 0
  if (longest >= MIN_STARTING) return [stuck]
  const late = stuck.late.filter(neverComes)
  return late.length === 0 ? [] : [{ ...stuck, late }]
}

function neverComes({ activity }: AbsentMember): boolean {
  return activity.is === 'ended' || activity.is === 'stopped'
}

/** The part of the processes that wait in MPI_Init, or are late, in one pod. */
interface StartOfPod {
  readonly pod: string
  /** The names of the processes. */
  readonly things: readonly string[]
  /** The seconds for which a process of the pod waits; null if none does. */
  readonly lost: number | null
  /** The numbers of processes. */
  readonly waiting: number
  readonly late: number
}

/** Returns the pods of the processes that wait in MPI_Init, or are late. */
export function startsOfPods({ waiting, late }: StuckStart): readonly StartOfPod[] {
  const absent = late.map(({ member }) => member)
  const isIn = (pod: string) => (member: StartingMember) => member.pod === pod
  return [...new Set([...absent, ...waiting].map(({ pod }) => pod))].map((pod) => {
    const [own, missing] = [waiting.filter(isIn(pod)), absent.filter(isIn(pod))]
    return {
      pod,
      things: [...missing, ...own].map(startingName),
      lost: maximum(own.map(({ waited }) => waited)),
      waiting: own.length,
      late: missing.length,
    }
  })
}
