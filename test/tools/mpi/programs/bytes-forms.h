// The functions that have a form for large counts; included by bytes.c for each of the two forms.

static void FORM(send_ahead)(void) {
  MPI_Request all[2];
#define SEND(name)                                                                       \
  DO(FORM(Irecv), 0, other, 6, MPI_INT, lower, 0, MPI_COMM_WORLD, &all[0]);              \
  DO(Barrier, 0, MPI_COMM_WORLD);                                                        \
  DO(FORM(name), UP(6 * E), data, 6, MPI_INT, upper, 0, MPI_COMM_WORLD);                 \
  DO(Wait, 0, &all[0], MPI_STATUS_IGNORE)
#define ISEND(name)                                                                      \
  DO(FORM(Irecv), 0, other, 6, MPI_INT, lower, 0, MPI_COMM_WORLD, &all[0]);              \
  DO(Barrier, 0, MPI_COMM_WORLD);                                                        \
  DO(FORM(name), UP(6 * E), data, 6, MPI_INT, upper, 0, MPI_COMM_WORLD, &all[1]);        \
  DO(Waitall, 0, 2, all, MPI_STATUSES_IGNORE)
  SEND(Send);
  SEND(Bsend);
  SEND(Ssend);
  SEND(Rsend);
  ISEND(Isend);
  ISEND(Ibsend);
  ISEND(Issend);
  ISEND(Irsend);
#undef SEND
#undef ISEND
}

static void FORM(exchange)(void) {
  MPI_Request request;
  MPI_Message message;
  MPI_Datatype pairs;
  // Two of each three integers: the size is that of what is sent, not that of the memory.
  MPI_Type_vector(4, 2, 3, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  DO(FORM(Isend), 8 * E, data, 1, pairs, next, 1, MPI_COMM_WORLD, &request);
  DO(FORM(Recv), 0, other, 8, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  DO(Wait, 0, &request, MPI_STATUS_IGNORE);
  DO(FORM(Isend), E, data, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &request);
  DO(Mprobe, 0, previous, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  DO(FORM(Mrecv), 0, other, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  DO(Wait, 0, &request, MPI_STATUS_IGNORE);
  DO(FORM(Isend), E, data, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &request);
  DO(Mprobe, 0, previous, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Request received;
  DO(FORM(Imrecv), 0, other, 1, MPI_INT, &message, &received);
  DO(Wait, 0, &received, MPI_STATUS_IGNORE);
  DO(Wait, 0, &request, MPI_STATUS_IGNORE);
  DO(FORM(Sendrecv), UP(7 * E), data, 7, MPI_INT, upper, 0, other, 9, MPI_INT, lower, 0,
     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  DO(FORM(Sendrecv_replace), UP(7 * E), data, 7, MPI_INT, upper, 0, lower, 0, MPI_COMM_WORLD,
     MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
  DO(FORM(Isendrecv), UP(7 * E), data, 7, MPI_INT, upper, 0, other, 9, MPI_INT, lower, 0,
     MPI_COMM_WORLD, &request);
  DO(Wait, 0, &request, MPI_STATUS_IGNORE);
  DO(FORM(Isendrecv_replace), UP(7 * E), data, 7, MPI_INT, upper, 0, lower, 0, MPI_COMM_WORLD,
     &request);
  DO(Wait, 0, &request, MPI_STATUS_IGNORE);
#endif
}

// Each request is started three times.
static void FORM(start)(void) {
  MPI_Request all[2];
#define INIT(name)                                                                        \
  DO(FORM(Recv_init), 0, other, 3, MPI_INT, lower, 0, MPI_COMM_WORLD, &all[0]);           \
  DO(FORM(name), 0, data, 3, MPI_INT, upper, 0, MPI_COMM_WORLD, &all[1]);                 \
  DO(Startall, UP(3 * E), 2, all);                                                        \
  DO(Waitall, 0, 2, all, MPI_STATUSES_IGNORE);                                            \
  for (int round = 0; round < 2; round++) {                                               \
    DO(Start, 0, &all[0]);                                                                \
    DO(Barrier, 0, MPI_COMM_WORLD);                                                       \
    DO(Start, UP(3 * E), &all[1]);                                                        \
    DO(Waitall, 0, 2, all, MPI_STATUSES_IGNORE);                                          \
  }                                                                                       \
  MPI_Request_free(&all[0]);                                                              \
  MPI_Request_free(&all[1])
  INIT(Send_init);
  INIT(Bsend_init);
  INIT(Ssend_init);
#undef INIT
  DO(FORM(Rsend_init), 0, data, 3, MPI_INT, upper, 0, MPI_COMM_WORLD, &all[1]);
  DO(FORM(Irecv), 0, other, 3, MPI_INT, lower, 0, MPI_COMM_WORLD, &all[0]);
  DO(Barrier, 0, MPI_COMM_WORLD);
  DO(Start, UP(3 * E), &all[1]);
  DO(Waitall, 0, 2, all, MPI_STATUSES_IGNORE);
}

// Calls the blocking, the nonblocking and the persistent form of a collective function. MPICH 4.0
// waits for ever in the second start of a persistent one.
#define DONE(request) DO(Wait, 0, request, MPI_STATUS_IGNORE)
#if MPI_VERSION >= 4
#define PERSISTENT(Name, bytes, ...)                         \
  DO(Name, 0, __VA_ARGS__, MPI_INFO_NULL, &request);         \
  DO(Start, bytes, &request);                                \
  DONE(&request);                                            \
  MPI_Request_free(&request)
#else
#define PERSISTENT(Name, bytes, ...)
#endif
#define COLLECT(Name, Iname, Init, bytes, ...)               \
  DO(FORM(Name), bytes, __VA_ARGS__);                        \
  DO(FORM(Iname), bytes, __VA_ARGS__, &request);             \
  DONE(&request);                                            \
  PERSISTENT(FORM(Init), bytes, __VA_ARGS__)

static void FORM(collect)(void) {
  MPI_Request request;
  MPI_Comm all = MPI_COMM_WORLD;
  COUNT one[] = {1, 2, 3}, mine[] = {rank + 1, rank + 1, rank + 1};
  OFFSET at[] = {0, 8, 16};
  MPI_Datatype kinds[] = {MPI_INT, MPI_INT, MPI_INT}, none = MPI_DATATYPE_NULL;
  int is_root = rank == 1;
  void *kept = is_root ? MPI_IN_PLACE : data, *in = MPI_IN_PLACE;
  int small[] = {0, 32, 64};
  COLLECT(Bcast, Ibcast, Bcast_init, AT(1, 5 * E), data, 5, MPI_INT, 1, all);
  COLLECT(Gather, Igather, Gather_init, 5 * E, data, 5, MPI_INT, other, 5, MPI_INT, 1, all);
  COLLECT(Gather, Igather, Gather_init, is_root ? 0 : 5 * E, kept, 5, is_root ? none : MPI_INT,
          other, 5, MPI_INT, 1, all);
  COLLECT(Gatherv, Igatherv, Gatherv_init, (rank + 1) * E, data, rank + 1, MPI_INT, other, one, at,
          MPI_INT, 1, all);
  COLLECT(Gatherv, Igatherv, Gatherv_init, is_root ? 0 : (rank + 1) * E, kept, rank + 1, MPI_INT,
          other, one, at, MPI_INT, 1, all);
  COLLECT(Scatter, Iscatter, Scatter_init, AT(1, 3 * 5 * E), data, 5, is_root ? MPI_INT : none,
          other, 5, MPI_INT, 1, all);
  COLLECT(Scatter, Iscatter, Scatter_init, AT(1, 2 * 5 * E), data, 5, MPI_INT,
          is_root ? MPI_IN_PLACE : other, 5, MPI_INT, 1, all);
  COLLECT(Scatterv, Iscatterv, Scatterv_init, AT(1, (1 + 2 + 3) * E), data, is_root ? one : NULL, at,
          MPI_INT, other, rank + 1, MPI_INT, 1, all);
  COLLECT(Scatterv, Iscatterv, Scatterv_init, AT(1, (1 + 3) * E), data, one, at, MPI_INT,
          is_root ? MPI_IN_PLACE : other, rank + 1, MPI_INT, 1, all);
  COLLECT(Allgather, Iallgather, Allgather_init, 5 * E, data, 5, MPI_INT, other, 5, MPI_INT, all);
  COLLECT(Allgather, Iallgather, Allgather_init, 5 * E, in, 0, none, other, 5, MPI_INT, all);
  COLLECT(Allgatherv, Iallgatherv, Allgatherv_init, (rank + 1) * E, data, rank + 1, MPI_INT, other,
          one, at, MPI_INT, all);
  COLLECT(Allgatherv, Iallgatherv, Allgatherv_init, (rank + 1) * E, in, 0, none, other, one, at,
          MPI_INT, all);
  COLLECT(Alltoall, Ialltoall, Alltoall_init, 3 * 5 * E, data, 5, MPI_INT, other, 5, MPI_INT, all);
  COLLECT(Alltoall, Ialltoall, Alltoall_init, 3 * 5 * E, in, 0, none, other, 5, MPI_INT, all);
  COLLECT(Alltoallv, Ialltoallv, Alltoallv_init, (1 + 2 + 3) * E, data, one, at, MPI_INT, other,
          mine, at, MPI_INT, all);
  COUNT two[] = {2, 2, 2};
  COLLECT(Alltoallv, Ialltoallv, Alltoallv_init, 3 * 2 * E, in, NULL, NULL, none, other, two, at,
          MPI_INT, all);
  // The offsets are in bytes, and are integers in the small form.
#define BYTES sizeof(OFFSET) == sizeof(int) ? (OFFSET *)small : wide
  OFFSET wide[] = {0, 32, 64};
  COLLECT(Alltoallw, Ialltoallw, Alltoallw_init, (1 + 2 + 3) * E, data, one, BYTES, kinds, other,
          mine, BYTES, kinds, all);
  COLLECT(Alltoallw, Ialltoallw, Alltoallw_init, 3 * 2 * E, in, NULL, NULL, NULL, other, two, BYTES,
          kinds, all);
#undef BYTES
  COLLECT(Reduce, Ireduce, Reduce_init, 5 * E, data, other, 5, MPI_INT, MPI_SUM, 1, all);
  COLLECT(Reduce, Ireduce, Reduce_init, is_root ? 0 : 5 * E, kept, other, 5, MPI_INT, MPI_SUM, 1, all);
  COLLECT(Allreduce, Iallreduce, Allreduce_init, 5 * E, data, other, 5, MPI_INT, MPI_SUM, all);
  COLLECT(Allreduce, Iallreduce, Allreduce_init, 5 * E, in, other, 5, MPI_INT, MPI_SUM, all);
  COLLECT(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, (1 + 2 + 3) * E, data, other, one,
          MPI_INT, MPI_SUM, all);
  COLLECT(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, (1 + 2 + 3) * E, in, other, one,
          MPI_INT, MPI_SUM, all);
  COLLECT(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, 3 * 5 * E, data,
          other, 5, MPI_INT, MPI_SUM, all);
  COLLECT(Scan, Iscan, Scan_init, 5 * E, data, other, 5, MPI_INT, MPI_SUM, all);
  COLLECT(Scan, Iscan, Scan_init, 5 * E, in, other, 5, MPI_INT, MPI_SUM, all);
  COLLECT(Exscan, Iexscan, Exscan_init, 5 * E, data, other, 5, MPI_INT, MPI_SUM, all);
}

// The ranks 0 and 1 are one group, and the rank 2 is the other one.
static void FORM(collect_between)(void) {
  MPI_Request request;
  MPI_Comm own, all;
  COUNT one[] = {1, 2, 3}, three[] = {3, 3}, six[] = {6};
  OFFSET at[] = {0, 8, 16};
  int is_single = rank == 2, remote = is_single ? 2 : 1;
  DO(Comm_split, 0, MPI_COMM_WORLD, is_single, 0, &own);
  DO(Intercomm_create, 0, own, 0, MPI_COMM_WORLD, is_single ? 0 : 2, 0, &all);
  // The rank 1 of MPI_COMM_WORLD sends to the rank 2, or receives from it.
  int root = is_single ? 1 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL;
  int sent_by = is_single ? MPI_ROOT : 0;
#define BETWEEN(Name, Iname, bytes, ...)                     \
  DO(FORM(Name), bytes, __VA_ARGS__);                        \
  DO(FORM(Iname), bytes, __VA_ARGS__, &request);             \
  DONE(&request)
  BETWEEN(Bcast, Ibcast, AT(1, 5 * E), data, 5, MPI_INT, root, all);
  BETWEEN(Gather, Igather, AT(2, 5 * E), data, 5, MPI_INT, other, 5, MPI_INT, root, all);
  BETWEEN(Gatherv, Igatherv, AT(2, E), data, 1, MPI_INT, other, one, at, MPI_INT, root, all);
  BETWEEN(Scatter, Iscatter, AT(2, 2 * 5 * E), data, 5, MPI_INT, other, 5, MPI_INT, sent_by, all);
  BETWEEN(Scatterv, Iscatterv, AT(2, (1 + 2) * E), data, one, at, MPI_INT, other, rank + 1, MPI_INT,
          sent_by, all);
  BETWEEN(Allgather, Iallgather, 5 * E, data, 5, MPI_INT, other, 5, MPI_INT, all);
  BETWEEN(Alltoall, Ialltoall, remote * 5 * E, data, 5, MPI_INT, other, 5, MPI_INT, all);
  BETWEEN(Alltoallv, Ialltoallv, remote * 3 * E, data, three, at, MPI_INT, other, three, at, MPI_INT,
          all);
  BETWEEN(Reduce, Ireduce, AT(2, 5 * E), data, other, 5, MPI_INT, MPI_SUM, root, all);
  BETWEEN(Allreduce, Iallreduce, 5 * E, data, other, 5, MPI_INT, MPI_SUM, all);
  BETWEEN(Reduce_scatter, Ireduce_scatter, 6 * E, data, other, is_single ? six : three, MPI_INT,
          MPI_SUM, all);
#undef BETWEEN
  DO(Comm_free, 0, &all);
  DO(Comm_free, 0, &own);
}

// Sends to the neighbors of a chain or a ring.
static void FORM(use_neighbors)(MPI_Comm all, int has_lower, int has_upper) {
  MPI_Request request;
  COUNT one[] = {1, 2}, many[] = {2, 2};
  OFFSET at[] = {0, 8};
  MPI_Aint wide[] = {0, 32};
  MPI_Datatype kinds[] = {MPI_INT, MPI_INT};
  int count = has_lower + has_upper;
  COUNT own[] = {2, 1};
  COLLECT(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, count * 5 * E, data, 5,
          MPI_INT, other, 5, MPI_INT, all);
  COLLECT(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, count * 2 * E, data,
          2, MPI_INT, other, many, at, MPI_INT, all);
  COLLECT(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, count * 5 * E, data, 5,
          MPI_INT, other, 5, MPI_INT, all);
  // One element to the lower neighbor, and two to the upper one.
  COLLECT(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init,
          (has_lower + has_upper * 2) * E, data, one, at, MPI_INT, other, own, at, MPI_INT, all);
  COLLECT(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init,
          (has_lower + has_upper * 2) * E, data, one, wide, kinds, other, own, wide, kinds, all);
}

static void FORM(use_topologies)(void) {
  int size[] = {RANKS}, no[] = {0}, yes[] = {1}, both[] = {previous, next};
  MPI_Comm made;
  DO(Cart_create, 0, MPI_COMM_WORLD, 1, size, no, 0, &made);
  FORM(use_neighbors)(made, rank > 0, rank < RANKS - 1);
  DO(Comm_free, 0, &made);
  DO(Cart_create, 0, MPI_COMM_WORLD, 1, size, yes, 0, &made);
  FORM(use_neighbors)(made, 1, 1);
  DO(Comm_free, 0, &made);
  DO(Dist_graph_create_adjacent, 0, MPI_COMM_WORLD, 2, both, MPI_UNWEIGHTED, 2, both,
     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  FORM(use_neighbors)(made, 1, 1);
  DO(Comm_free, 0, &made);
}

static void FORM(access)(void) {
  static int memory[64];
  int *base;
  MPI_Win window;
  MPI_Request request;
  DO(FORM(Win_allocate), 0, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  DO(Win_free, 0, &window);
  DO(FORM(Win_allocate_shared), 0, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  DO(Win_free, 0, &window);
  DO(FORM(Win_create), 0, memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  DO(Win_lock_all, 0, 0, window);
  DO(FORM(Put), UP(4 * E), data, 4, MPI_INT, upper, 0, 4, MPI_INT, window);
  DO(FORM(Get), 0, other, 4, MPI_INT, next, 4, 4, MPI_INT, window);
  DO(FORM(Accumulate), UP(4 * E), data, 4, MPI_INT, upper, 8, 4, MPI_INT, MPI_SUM, window);
  DO(FORM(Get_accumulate), UP(4 * E), data, 4, MPI_INT, other, 4, MPI_INT, upper, 8, 4, MPI_INT,
     MPI_SUM, window);
  DO(FORM(Get_accumulate), 0, NULL, 0, MPI_INT, other, 4, MPI_INT, next, 8, 4, MPI_INT, MPI_NO_OP,
     window);
  DO(FORM(Rput), UP(4 * E), data, 4, MPI_INT, upper, 12, 4, MPI_INT, window, &request);
  DONE(&request);
  DO(FORM(Rget), 0, other, 4, MPI_INT, next, 16, 4, MPI_INT, window, &request);
  DONE(&request);
  DO(FORM(Raccumulate), UP(4 * E), data, 4, MPI_INT, upper, 8, 4, MPI_INT, MPI_SUM, window, &request);
  DONE(&request);
  DO(FORM(Rget_accumulate), UP(4 * E), data, 4, MPI_INT, other, 4, MPI_INT, upper, 8, 4, MPI_INT,
     MPI_SUM, window, &request);
  DONE(&request);
  DO(Win_unlock_all, 0, window);
  DO(Win_free, 0, &window);
}

static void FORM(write_and_read)(MPI_File file) {
  MPI_Status *any = MPI_STATUS_IGNORE;
  MPI_Request request;
#define WRITE(Name, ...) DO(FORM(Name), 3 * E, file, __VA_ARGS__ data, 3, MPI_INT, any)
#define READ(Name, ...) DO(FORM(Name), 0, file, __VA_ARGS__ other, 3, MPI_INT, any)
#define IWRITE(Name, ...) DO(FORM(Name), 3 * E, file, __VA_ARGS__ data, 3, MPI_INT, &request); DONE(&request)
#define IREAD(Name, ...) DO(FORM(Name), 0, file, __VA_ARGS__ other, 3, MPI_INT, &request); DONE(&request)
  WRITE(File_write);
  WRITE(File_write_all);
  WRITE(File_write_at, 16, );
  WRITE(File_write_at_all, 16, );
  WRITE(File_write_shared);
  WRITE(File_write_ordered);
  READ(File_read);
  READ(File_read_all);
  READ(File_read_at, 16, );
  READ(File_read_at_all, 16, );
  READ(File_read_shared);
  READ(File_read_ordered);
  IWRITE(File_iwrite);
  IWRITE(File_iwrite_all);
  IWRITE(File_iwrite_at, 16, );
  IWRITE(File_iwrite_at_all, 16, );
  IWRITE(File_iwrite_shared);
  IREAD(File_iread);
  IREAD(File_iread_all);
  IREAD(File_iread_at, 16, );
  IREAD(File_iread_at_all, 16, );
  IREAD(File_iread_shared);
#undef WRITE
#undef READ
#undef IWRITE
#undef IREAD
  DO(FORM(File_write_all_begin), 3 * E, file, data, 3, MPI_INT);
  DO(File_write_all_end, 0, file, data, any);
  DO(FORM(File_write_at_all_begin), 3 * E, file, 16, data, 3, MPI_INT);
  DO(File_write_at_all_end, 0, file, data, any);
  DO(FORM(File_write_ordered_begin), 3 * E, file, data, 3, MPI_INT);
  DO(File_write_ordered_end, 0, file, data, any);
  DO(FORM(File_read_all_begin), 0, file, other, 3, MPI_INT);
  DO(File_read_all_end, 0, file, other, any);
  DO(FORM(File_read_at_all_begin), 0, file, 16, other, 3, MPI_INT);
  DO(File_read_at_all_end, 0, file, other, any);
  DO(FORM(File_read_ordered_begin), 0, file, other, 3, MPI_INT);
  DO(File_read_ordered_end, 0, file, other, any);
}

static void FORM(call_all)(void) {
  MPI_Request request;
  FORM(send_ahead)();
  FORM(exchange)();
  FORM(collect)();
  FORM(collect_between)();
  FORM(use_topologies)();
  FORM(access)();
  DO(Ibarrier, 0, MPI_COMM_WORLD, &request);
  DONE(&request);
  PERSISTENT(Barrier_init, 0, MPI_COMM_WORLD);
}

#undef DONE
#undef PERSISTENT
#undef COLLECT
