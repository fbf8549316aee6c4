import { POINT_TO_POINT } from './call-kinds.ts'
import type { JobProcess, MpiJob } from './mpi-job.ts'
import type { MpiProcess } from './mpi-run.ts'

/** The time for which a process waited in point-to-point calls for another one. */
export interface PeerWait {
  readonly waiting: JobProcess
  readonly peer: JobProcess
  /** The time that the other process explains; see `findPeerWaits`. */
  readonly seconds: number
  /** The time of the process in point-to-point calls with the other one. */
  readonly spent: number
  /** The call in which the process spent the most time with the other one. */
  readonly call: string
  /** The mean of the shares of time outside of MPI, as a part of the share of the other process. */
  readonly balance: number
}

/** Returns the part of its time since MPI_Init that a process was not in MPI, from 0 to 1. */
export function shareOutside({ elapsed, seconds }: MpiProcess): number {
  return elapsed > 0 ? Math.max(1 - seconds / elapsed, 0) : 0
}

/**
 * Finds processes that waited in point-to-point calls for a process that had more to do outside of
 * MPI. Scalasca calls such waits "Late Sender" and "Late Receiver".
 *
 * The time in such a call includes the transfer. Therefore no more than the difference of both
 * processes' time in MPI counts: as long as the other process is in MPI too, its work does not
 * explain the time. The other process must also be out of MPI for longer than most: the mean of the
 * shares of all processes must be at most `mostBalance` times its share. With equal lengths, this
 * is the load balance of the POP Centre of Excellence: the mean of the times outside of MPI,
 * divided by the greatest one.
 *
 * @param job a job without a problem, so that all of its processes are known
 */
export function findPeerWaits({ processes }: MpiJob, mostBalance: number): readonly PeerWait[] {
  const shares = processes.map(shareOutside)
  const mean = shares.reduce((sum, share) => sum + share, 0) / Math.max(processes.length, 1)
  return processes.flatMap((waiting, index) => {
    const waits = [...timeByPeer(waiting)].flatMap(([rank, { spent, call }]) => {
      const [peer, share = 0] = [processes[rank], shares[rank]]
      if (peer === undefined || peer === waiting || mean > mostBalance * share) return []
      const more = (share - (shares[index] ?? 0)) * waiting.elapsed
      const seconds = Math.min(spent, more)
      return seconds > 0
        ? [{ waiting, peer, seconds, spent, call, balance: mean / share } as const]
        : []
    })
    return waits
  })
}

/** Returns the time of a process in point-to-point calls by peer, with the longest call. */
function timeByPeer({ rows }: JobProcess) {
  const peers = new Map<number, { spent: number; most: number; call: string }>()
  const byCall = new Map<string, number>()
  for (const { call, peer, seconds } of rows) {
    if (peer === null || !POINT_TO_POINT.has(call)) continue
    const total = peers.get(peer) ?? { spent: 0, most: -1, call }
    peers.set(peer, total)
    const time = (byCall.get(`${call} ${peer}`) ?? 0) + seconds
    byCall.set(`${call} ${peer}`, time)
    total.spent += seconds
    if (time <= total.most) continue
    total.most = time
    total.call = call
  }
  return peers
}
