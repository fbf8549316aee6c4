// The calls of MPI that are recorded. Each entry describes one call:
//
//   CALL(Name, name, number of arguments, roles of the arguments)
//
// A role is the position of an argument in the binding for C, from 1; MPI 4.0 defines the bindings.
// The binding for Fortran has the same arguments in the same order, and the error code at the end.
// CALL_L is a call that also has a form for large counts in C, with the suffix _c (MPI 4.0, 2.5.8).
// CALL_C is a call whose binding for Fortran is not recorded, because it has a text among its
// arguments, which has a hidden length in Fortran.
//
// The bytes of a call are the data that the process sends, puts or writes:
//
//   SENDS(count, type)           the data in the arguments: the number of elements, the datatype
//   SENDS_COUNTS(counts, type)   an array of numbers of elements
//   SENDS_TYPES(counts, types)   and an array of datatypes
//   SENDS_ELEMENTS(number, type) a fixed number of elements
//   IN_PLACE(count, type)        the data if the first argument is MPI_IN_PLACE, where the library
//                                ignores the arguments of SENDS; IN_PLACE_COUNTS and
//                                IN_PLACE_TYPES as above
//   IN_PLACE_OWN(counts, type)   only the element of the array that belongs to the process
//   IN_PLACE_NOTHING             the process sends nothing then
//   .blocks          there are so many blocks of the data, or so many elements in the arrays:
//                    PEERS, one for each member, of the other group in an intercommunicator;
//                    MEMBERS, of the own group; NEIGHBORS, in the topology, without MPI_PROC_NULL
//   .to              the destination. The process sends nothing to MPI_PROC_NULL
//   .at_root = 1     only the root sends data
//   .keeps           the root keeps its own block if this argument is MPI_IN_PLACE
//   .operation       the process sends nothing if this argument is MPI_NO_OP
//   .persistent = 1  the data is sent each time that the request is started
//   .partitioned = 1 the data is that of a partition, and is sent when the partition is ready
//   .large = 1       numbers of elements are of type MPI_Count
//
// Other roles:
//
//   .peer, .root     the other process, or the root of a collective: a rank in the communicator
//   .comm            the communicator
//   .request         the place of a new request
//   .number, .requests  the requests that the call completes or starts; without number, one
//   .starts = 1      the call starts these requests
//   .ready           the request of which the call makes partitions ready: as many as `number`
//                    says, or those from `low` to `high`, or one
//   .status          the status of one received message; tells the source if peer is
//                    MPI_ANY_SOURCE
//   .created         the place of a new communicator
//   .freed           the place of a communicator that the call frees
//   .partly = 1      only some members of the communicator make the call. All others with a
//                    communicator and without a peer are made by all members, in the same order
//   .waits = 1       no member can return before all members have entered the call (Barrier), or
//                    the result depends on the data of all members (Allreduce, MPI 4.0, 6.1 and
//                    6.9.6). The calls that create communicators belong to these because
//                    the members agree on an identifier. Collectives with an array of counts do not
//                    belong to these, because a count of 0 is allowed.

// Point-to-point communication (MPI 4.0, chapters 3 and 4).
CALL_L(Send, send, 6, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6)
CALL_L(Bsend, bsend, 6, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6)
CALL_L(Ssend, ssend, 6, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6)
CALL_L(Rsend, rsend, 6, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6)
CALL_L(Isend, isend, 7, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6, .request = 7)
CALL_L(Ibsend, ibsend, 7, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6, .request = 7)
CALL_L(Issend, issend, 7, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6, .request = 7)
CALL_L(Irsend, irsend, 7, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6, .request = 7)
CALL_L(Recv, recv, 7, .peer = 4, .comm = 6, .status = 7)
CALL_L(Irecv, irecv, 7, .peer = 4, .comm = 6, .request = 7)
CALL_L(Mrecv, mrecv, 5)
CALL_L(Imrecv, imrecv, 5, .request = 5)
CALL(Probe, probe, 4, .peer = 1, .comm = 3, .status = 4)
CALL(Iprobe, iprobe, 5, .peer = 1, .comm = 3)
CALL(Mprobe, mprobe, 5, .peer = 1, .comm = 3, .status = 5)
CALL(Improbe, improbe, 6, .peer = 1, .comm = 3)
// The source is the peer, because a call waits more often for a message than to send one.
CALL_L(Sendrecv, sendrecv, 12, SENDS(2, 3), .to = 4, .peer = 9, .comm = 11, .status = 12)
CALL_L(Sendrecv_replace, sendrecv_replace, 9, SENDS(2, 3), .to = 4, .peer = 6, .comm = 8,
    .status = 9)
CALL_L(Isendrecv, isendrecv, 12, SENDS(2, 3), .to = 4, .peer = 9, .comm = 11, .request = 12)
CALL_L(Isendrecv_replace, isendrecv_replace, 9, SENDS(2, 3), .to = 4, .peer = 6, .comm = 8,
    .request = 9)
CALL_L(Send_init, send_init, 7, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6, .request = 7,
    .persistent = 1)
CALL_L(Bsend_init, bsend_init, 7, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6, .request = 7,
    .persistent = 1)
CALL_L(Ssend_init, ssend_init, 7, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6, .request = 7,
    .persistent = 1)
CALL_L(Rsend_init, rsend_init, 7, SENDS(2, 3), .to = 4, .peer = 4, .comm = 6, .request = 7,
    .persistent = 1)
CALL_L(Recv_init, recv_init, 7, .peer = 4, .comm = 6, .request = 7, .persistent = 1)
// The counts of these two are of type MPI_Count in all bindings.
CALL(Psend_init, psend_init, 9, SENDS(3, 4), .to = 5, .peer = 5, .comm = 7, .request = 9,
    .partitioned = 1, .large = 1)
CALL(Precv_init, precv_init, 9, .peer = 5, .comm = 7, .request = 9, .partitioned = 1)
CALL(Pready, pready, 2, .ready = 2)
CALL(Pready_range, pready_range, 3, .ready = 3, .low = 1, .high = 2)
CALL(Pready_list, pready_list, 3, .ready = 3, .number = 1)
CALL(Parrived, parrived, 3)
CALL(Start, start, 1, .requests = 1, .starts = 1)
CALL(Startall, startall, 2, .number = 1, .requests = 2, .starts = 1)
CALL(Wait, wait, 2, .requests = 1)
CALL(Waitall, waitall, 3, .number = 1, .requests = 2)
CALL(Waitany, waitany, 4, .number = 1, .requests = 2)
CALL(Waitsome, waitsome, 5, .number = 1, .requests = 2)
CALL(Test, test, 3, .requests = 1)
CALL(Testall, testall, 4, .number = 1, .requests = 2)
CALL(Testany, testany, 5, .number = 1, .requests = 2)
CALL(Testsome, testsome, 5, .number = 1, .requests = 2)

// Collective communication (chapter 6). The forms that return a request have it as their last
// argument; the persistent ones also have an info before it.
CALL(Barrier, barrier, 1, .comm = 1, .waits = 1)
CALL_L(Bcast, bcast, 5, SENDS(2, 3), .root = 4, .comm = 5, .at_root = 1)
CALL_L(Gather, gather, 8, SENDS(2, 3), IN_PLACE_NOTHING, .root = 7, .comm = 8)
CALL_L(Gatherv, gatherv, 9, SENDS(2, 3), IN_PLACE_NOTHING, .root = 8, .comm = 9)
CALL_L(Scatter, scatter, 8, SENDS(2, 3), .blocks = PEERS, .keeps = 4, .root = 7, .comm = 8,
    .at_root = 1)
CALL_L(Scatterv, scatterv, 9, SENDS_COUNTS(2, 4), .blocks = PEERS, .keeps = 5, .root = 8, .comm = 9,
    .at_root = 1)
CALL_L(Allgather, allgather, 7, SENDS(2, 3), IN_PLACE(5, 6), .comm = 7, .waits = 1)
CALL_L(Allgatherv, allgatherv, 8, SENDS(2, 3), IN_PLACE_OWN(5, 7), .comm = 8)
CALL_L(Alltoall, alltoall, 7, SENDS(2, 3), IN_PLACE(5, 6), .blocks = PEERS, .comm = 7, .waits = 1)
CALL_L(Alltoallv, alltoallv, 9, SENDS_COUNTS(2, 4), IN_PLACE_COUNTS(6, 8), .blocks = PEERS,
    .comm = 9)
CALL_L(Alltoallw, alltoallw, 9, SENDS_TYPES(2, 4), IN_PLACE_TYPES(6, 8), .blocks = PEERS, .comm = 9)
CALL_L(Reduce, reduce, 7, SENDS(3, 4), IN_PLACE_NOTHING, .root = 6, .comm = 7)
CALL_L(Allreduce, allreduce, 6, SENDS(3, 4), .comm = 6, .waits = 1)
CALL_L(Reduce_scatter, reduce_scatter, 6, SENDS_COUNTS(3, 4), .blocks = MEMBERS, .comm = 6)
CALL_L(Reduce_scatter_block, reduce_scatter_block, 6, SENDS(3, 4), .blocks = MEMBERS, .comm = 6,
    .waits = 1)
CALL_L(Scan, scan, 6, SENDS(3, 4), .comm = 6)
CALL_L(Exscan, exscan, 6, SENDS(3, 4), .comm = 6)
CALL(Ibarrier, ibarrier, 2, .comm = 1, .request = 2)
CALL_L(Ibcast, ibcast, 6, SENDS(2, 3), .root = 4, .comm = 5, .at_root = 1, .request = 6)
CALL_L(Igather, igather, 9, SENDS(2, 3), IN_PLACE_NOTHING, .root = 7, .comm = 8, .request = 9)
CALL_L(Igatherv, igatherv, 10, SENDS(2, 3), IN_PLACE_NOTHING, .root = 8, .comm = 9, .request = 10)
CALL_L(Iscatter, iscatter, 9, SENDS(2, 3), .blocks = PEERS, .keeps = 4, .root = 7, .comm = 8,
    .at_root = 1, .request = 9)
CALL_L(Iscatterv, iscatterv, 10, SENDS_COUNTS(2, 4), .blocks = PEERS, .keeps = 5, .root = 8,
    .comm = 9, .at_root = 1, .request = 10)
CALL_L(Iallgather, iallgather, 8, SENDS(2, 3), IN_PLACE(5, 6), .comm = 7, .request = 8)
CALL_L(Iallgatherv, iallgatherv, 9, SENDS(2, 3), IN_PLACE_OWN(5, 7), .comm = 8, .request = 9)
CALL_L(Ialltoall, ialltoall, 8, SENDS(2, 3), IN_PLACE(5, 6), .blocks = PEERS, .comm = 7,
    .request = 8)
CALL_L(Ialltoallv, ialltoallv, 10, SENDS_COUNTS(2, 4), IN_PLACE_COUNTS(6, 8), .blocks = PEERS,
    .comm = 9, .request = 10)
CALL_L(Ialltoallw, ialltoallw, 10, SENDS_TYPES(2, 4), IN_PLACE_TYPES(6, 8), .blocks = PEERS,
    .comm = 9, .request = 10)
CALL_L(Ireduce, ireduce, 8, SENDS(3, 4), IN_PLACE_NOTHING, .root = 6, .comm = 7, .request = 8)
CALL_L(Iallreduce, iallreduce, 7, SENDS(3, 4), .comm = 6, .request = 7)
CALL_L(Ireduce_scatter, ireduce_scatter, 7, SENDS_COUNTS(3, 4), .blocks = MEMBERS, .comm = 6,
    .request = 7)
CALL_L(Ireduce_scatter_block, ireduce_scatter_block, 7, SENDS(3, 4), .blocks = MEMBERS, .comm = 6,
    .request = 7)
CALL_L(Iscan, iscan, 7, SENDS(3, 4), .comm = 6, .request = 7)
CALL_L(Iexscan, iexscan, 7, SENDS(3, 4), .comm = 6, .request = 7)
CALL(Barrier_init, barrier_init, 3, .comm = 1, .request = 3, .persistent = 1)
CALL_L(Bcast_init, bcast_init, 7, SENDS(2, 3), .root = 4, .comm = 5, .at_root = 1, .request = 7,
    .persistent = 1)
CALL_L(Gather_init, gather_init, 10, SENDS(2, 3), IN_PLACE_NOTHING, .root = 7, .comm = 8,
    .request = 10, .persistent = 1)
CALL_L(Gatherv_init, gatherv_init, 11, SENDS(2, 3), IN_PLACE_NOTHING, .root = 8, .comm = 9,
    .request = 11, .persistent = 1)
CALL_L(Scatter_init, scatter_init, 10, SENDS(2, 3), .blocks = PEERS, .keeps = 4, .root = 7,
    .comm = 8, .at_root = 1, .request = 10, .persistent = 1)
CALL_L(Scatterv_init, scatterv_init, 11, SENDS_COUNTS(2, 4), .blocks = PEERS, .keeps = 5, .root = 8,
    .comm = 9, .at_root = 1, .request = 11, .persistent = 1)
CALL_L(Allgather_init, allgather_init, 9, SENDS(2, 3), IN_PLACE(5, 6), .comm = 7, .request = 9,
    .persistent = 1)
CALL_L(Allgatherv_init, allgatherv_init, 10, SENDS(2, 3), IN_PLACE_OWN(5, 7), .comm = 8,
    .request = 10, .persistent = 1)
CALL_L(Alltoall_init, alltoall_init, 9, SENDS(2, 3), IN_PLACE(5, 6), .blocks = PEERS, .comm = 7,
    .request = 9, .persistent = 1)
CALL_L(Alltoallv_init, alltoallv_init, 11, SENDS_COUNTS(2, 4), IN_PLACE_COUNTS(6, 8),
    .blocks = PEERS, .comm = 9, .request = 11, .persistent = 1)
CALL_L(Alltoallw_init, alltoallw_init, 11, SENDS_TYPES(2, 4), IN_PLACE_TYPES(6, 8), .blocks = PEERS,
    .comm = 9, .request = 11, .persistent = 1)
CALL_L(Reduce_init, reduce_init, 9, SENDS(3, 4), IN_PLACE_NOTHING, .root = 6, .comm = 7,
    .request = 9, .persistent = 1)
CALL_L(Allreduce_init, allreduce_init, 8, SENDS(3, 4), .comm = 6, .request = 8, .persistent = 1)
CALL_L(Reduce_scatter_init, reduce_scatter_init, 8, SENDS_COUNTS(3, 4), .blocks = MEMBERS,
    .comm = 6, .request = 8, .persistent = 1)
CALL_L(Reduce_scatter_block_init, reduce_scatter_block_init, 8, SENDS(3, 4), .blocks = MEMBERS,
    .comm = 6, .request = 8, .persistent = 1)
CALL_L(Scan_init, scan_init, 8, SENDS(3, 4), .comm = 6, .request = 8, .persistent = 1)
CALL_L(Exscan_init, exscan_init, 8, SENDS(3, 4), .comm = 6, .request = 8, .persistent = 1)

// Groups, contexts, communicators (chapter 7) and process topologies (chapter 8).
CALL(Comm_dup, comm_dup, 2, .comm = 1, .created = 2, .waits = 1)
CALL(Comm_dup_with_info, comm_dup_with_info, 3, .comm = 1, .created = 3, .waits = 1)
CALL(Comm_idup, comm_idup, 3, .comm = 1, .request = 3)
CALL(Comm_idup_with_info, comm_idup_with_info, 4, .comm = 1, .request = 4)
CALL(Comm_create, comm_create, 3, .comm = 1, .created = 3, .waits = 1)
CALL(Comm_create_group, comm_create_group, 4, .comm = 1, .created = 4, .partly = 1)
CALL(Comm_split, comm_split, 4, .comm = 1, .created = 4, .waits = 1)
CALL(Comm_split_type, comm_split_type, 5, .comm = 1, .created = 5, .waits = 1)
CALL(Comm_free, comm_free, 1, .freed = 1)
CALL(Comm_disconnect, comm_disconnect, 1, .freed = 1)
CALL(Intercomm_create, intercomm_create, 6, .comm = 1, .created = 6)
CALL(Intercomm_merge, intercomm_merge, 3, .comm = 1, .created = 3)
CALL(Cart_create, cart_create, 6, .comm = 1, .created = 6, .waits = 1)
CALL(Cart_sub, cart_sub, 3, .comm = 1, .created = 3, .waits = 1)
CALL(Graph_create, graph_create, 6, .comm = 1, .created = 6, .waits = 1)
CALL(Dist_graph_create, dist_graph_create, 9, .comm = 1, .created = 9)
CALL(Dist_graph_create_adjacent, dist_graph_create_adjacent, 10, .comm = 1, .created = 10)
CALL_L(Neighbor_allgather, neighbor_allgather, 7, SENDS(2, 3), .blocks = NEIGHBORS, .comm = 7)
CALL_L(Neighbor_allgatherv, neighbor_allgatherv, 8, SENDS(2, 3), .blocks = NEIGHBORS, .comm = 8)
CALL_L(Neighbor_alltoall, neighbor_alltoall, 7, SENDS(2, 3), .blocks = NEIGHBORS, .comm = 7)
CALL_L(Neighbor_alltoallv, neighbor_alltoallv, 9, SENDS_COUNTS(2, 4), .blocks = NEIGHBORS,
    .comm = 9)
CALL_L(Neighbor_alltoallw, neighbor_alltoallw, 9, SENDS_TYPES(2, 4), .blocks = NEIGHBORS, .comm = 9)
CALL_L(Ineighbor_allgather, ineighbor_allgather, 8, SENDS(2, 3), .blocks = NEIGHBORS, .comm = 7,
    .request = 8)
CALL_L(Ineighbor_allgatherv, ineighbor_allgatherv, 9, SENDS(2, 3), .blocks = NEIGHBORS, .comm = 8,
    .request = 9)
CALL_L(Ineighbor_alltoall, ineighbor_alltoall, 8, SENDS(2, 3), .blocks = NEIGHBORS, .comm = 7,
    .request = 8)
CALL_L(Ineighbor_alltoallv, ineighbor_alltoallv, 10, SENDS_COUNTS(2, 4), .blocks = NEIGHBORS,
    .comm = 9, .request = 10)
CALL_L(Ineighbor_alltoallw, ineighbor_alltoallw, 10, SENDS_TYPES(2, 4), .blocks = NEIGHBORS,
    .comm = 9, .request = 10)
CALL_L(Neighbor_allgather_init, neighbor_allgather_init, 9, SENDS(2, 3), .blocks = NEIGHBORS,
    .comm = 7, .request = 9, .persistent = 1)
CALL_L(Neighbor_allgatherv_init, neighbor_allgatherv_init, 10, SENDS(2, 3), .blocks = NEIGHBORS,
    .comm = 8, .request = 10, .persistent = 1)
CALL_L(Neighbor_alltoall_init, neighbor_alltoall_init, 9, SENDS(2, 3), .blocks = NEIGHBORS,
    .comm = 7, .request = 9, .persistent = 1)
CALL_L(Neighbor_alltoallv_init, neighbor_alltoallv_init, 11, SENDS_COUNTS(2, 4),
    .blocks = NEIGHBORS, .comm = 9, .request = 11, .persistent = 1)
CALL_L(Neighbor_alltoallw_init, neighbor_alltoallw_init, 11, SENDS_TYPES(2, 4), .blocks = NEIGHBORS,
    .comm = 9, .request = 11, .persistent = 1)

// Process creation (chapter 11).
CALL_C(Comm_spawn, comm_spawn, 8, .comm = 6, .created = 7)
CALL_C(Comm_spawn_multiple, comm_spawn_multiple, 9, .comm = 7, .created = 8)
CALL_C(Comm_accept, comm_accept, 5, .comm = 4, .created = 5)
CALL_C(Comm_connect, comm_connect, 5, .comm = 4, .created = 5)

// One-sided communication (chapter 12). The recorder does not know the communicator of a window.
CALL_L(Win_create, win_create, 6, .comm = 5)
CALL_L(Win_allocate, win_allocate, 6, .comm = 4)
CALL_L(Win_allocate_shared, win_allocate_shared, 6, .comm = 4)
CALL(Win_create_dynamic, win_create_dynamic, 3, .comm = 2)
CALL(Win_free, win_free, 1)
CALL(Win_fence, win_fence, 2)
CALL(Win_start, win_start, 3)
CALL(Win_complete, win_complete, 1)
CALL(Win_post, win_post, 3)
CALL(Win_wait, win_wait, 1)
CALL(Win_test, win_test, 2)
CALL(Win_lock, win_lock, 4)
CALL(Win_unlock, win_unlock, 2)
CALL(Win_lock_all, win_lock_all, 2)
CALL(Win_unlock_all, win_unlock_all, 1)
CALL(Win_flush, win_flush, 2)
CALL(Win_flush_all, win_flush_all, 1)
CALL(Win_flush_local, win_flush_local, 2)
CALL(Win_flush_local_all, win_flush_local_all, 1)
CALL(Win_sync, win_sync, 1)
CALL_L(Put, put, 8, SENDS(2, 3), .to = 4)
CALL_L(Get, get, 8)
CALL_L(Accumulate, accumulate, 9, SENDS(2, 3), .to = 4)
CALL_L(Get_accumulate, get_accumulate, 12, SENDS(2, 3), .to = 7, .operation = 11)
CALL(Fetch_and_op, fetch_and_op, 7, SENDS_ELEMENTS(1, 3), .to = 4, .operation = 6)
// Sends the value to store and the value to compare with.
CALL(Compare_and_swap, compare_and_swap, 7, SENDS_ELEMENTS(2, 4), .to = 5)
CALL_L(Rput, rput, 9, SENDS(2, 3), .to = 4, .request = 9)
CALL_L(Rget, rget, 9, .request = 9)
CALL_L(Raccumulate, raccumulate, 10, SENDS(2, 3), .to = 4, .request = 10)
CALL_L(Rget_accumulate, rget_accumulate, 13, SENDS(2, 3), .to = 7, .operation = 11, .request = 13)

// Files (chapter 14).
CALL_C(File_open, file_open, 5, .comm = 1)
CALL(File_close, file_close, 1)
CALL(File_sync, file_sync, 1)
CALL(File_set_size, file_set_size, 2)
CALL_L(File_read, file_read, 5)
CALL_L(File_read_all, file_read_all, 5)
CALL_L(File_read_at, file_read_at, 6)
CALL_L(File_read_at_all, file_read_at_all, 6)
CALL_L(File_read_shared, file_read_shared, 5)
CALL_L(File_read_ordered, file_read_ordered, 5)
CALL_L(File_read_all_begin, file_read_all_begin, 4)
CALL(File_read_all_end, file_read_all_end, 3)
CALL_L(File_read_at_all_begin, file_read_at_all_begin, 5)
CALL(File_read_at_all_end, file_read_at_all_end, 3)
CALL_L(File_read_ordered_begin, file_read_ordered_begin, 4)
CALL(File_read_ordered_end, file_read_ordered_end, 3)
CALL_L(File_iread, file_iread, 5, .request = 5)
CALL_L(File_iread_at, file_iread_at, 6, .request = 6)
CALL_L(File_iread_all, file_iread_all, 5, .request = 5)
CALL_L(File_iread_at_all, file_iread_at_all, 6, .request = 6)
CALL_L(File_iread_shared, file_iread_shared, 5, .request = 5)
CALL_L(File_write, file_write, 5, SENDS(3, 4))
CALL_L(File_write_all, file_write_all, 5, SENDS(3, 4))
CALL_L(File_write_at, file_write_at, 6, SENDS(4, 5))
CALL_L(File_write_at_all, file_write_at_all, 6, SENDS(4, 5))
CALL_L(File_write_shared, file_write_shared, 5, SENDS(3, 4))
CALL_L(File_write_ordered, file_write_ordered, 5, SENDS(3, 4))
CALL_L(File_write_all_begin, file_write_all_begin, 4, SENDS(3, 4))
CALL(File_write_all_end, file_write_all_end, 3)
CALL_L(File_write_at_all_begin, file_write_at_all_begin, 5, SENDS(4, 5))
CALL(File_write_at_all_end, file_write_at_all_end, 3)
CALL_L(File_write_ordered_begin, file_write_ordered_begin, 4, SENDS(3, 4))
CALL(File_write_ordered_end, file_write_ordered_end, 3)
CALL_L(File_iwrite, file_iwrite, 5, SENDS(3, 4), .request = 5)
CALL_L(File_iwrite_at, file_iwrite_at, 6, SENDS(4, 5), .request = 6)
CALL_L(File_iwrite_all, file_iwrite_all, 5, SENDS(3, 4), .request = 5)
CALL_L(File_iwrite_at_all, file_iwrite_at_all, 6, SENDS(4, 5), .request = 6)
CALL_L(File_iwrite_shared, file_iwrite_shared, 5, SENDS(3, 4), .request = 5)
