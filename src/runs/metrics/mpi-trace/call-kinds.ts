/**
 * The calls that wait for all members of a communicator, whose times the blocks have; those with
 * `.waits = 1` in observer/mpi/calls.h.
 */
export const WAITING_FOR_ALL: ReadonlySet<string> = new Set(
  names(
    'Barrier Allgather Alltoall Allreduce Reduce_scatter_block Comm_dup Comm_dup_with_info ' +
      'Comm_create Comm_split Comm_split_type Cart_create Cart_sub Graph_create',
    'Allgather Alltoall Allreduce Reduce_scatter_block',
  ),
)

/**
 * The calls of point-to-point communication; those of this part of observer/mpi/calls.h. The calls
 * that complete requests, such as MPI_Wait, belong to them.
 */
export const POINT_TO_POINT: ReadonlySet<string> = new Set(
  names(
    'Send Bsend Ssend Rsend Isend Ibsend Issend Irsend Recv Irecv Mrecv Imrecv Probe Iprobe ' +
      'Mprobe Improbe Sendrecv Sendrecv_replace Isendrecv Isendrecv_replace Send_init ' +
      'Bsend_init Ssend_init Rsend_init Recv_init Psend_init Precv_init Pready Pready_range ' +
      'Pready_list Parrived Start Startall Wait Waitall Waitany Waitsome Test Testall Testany ' +
      'Testsome',
    'Send Bsend Ssend Rsend Isend Ibsend Issend Irsend Recv Irecv Mrecv Imrecv Sendrecv ' +
      'Sendrecv_replace Isendrecv Isendrecv_replace Send_init Bsend_init Ssend_init Rsend_init ' +
      'Recv_init',
  ),
)

/** @param large the calls that also have a large-count form */
function names(calls: string, large: string): readonly string[] {
  const all = [...calls.split(' '), ...large.split(' ').map((name) => `${name}_c`)]
  return all.map((name) => `MPI_${name}`)
}
