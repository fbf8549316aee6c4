// The bytes that a call sends, puts or writes.
//
// They are the data in the arguments of the call by which the process sends (MPI 4.0), as often as
// the arguments name it: once in MPI_Allreduce, a block for each member in MPI_Alltoall, a message
// to each neighbor in MPI_Neighbor_allgather (8.6.1). The block of the process itself counts. Data
// that the process keeps, because it is the root and uses MPI_IN_PLACE, and data for MPI_PROC_NULL
// does not count.
//
// The communicator and the datatypes of a call are significant, and valid when it has succeeded, so
// that MPI can be asked about them, unless another thread has freed them meanwhile.

#pragma once

// MPI_CART, MPI_GRAPH and MPI_DIST_GRAPH, the results of MPI_Topo_test.
enum topology { NO_TOPOLOGY, CARTESIAN, GRAPH, DISTRIBUTED_GRAPH };

// What the bytes of a call in a communicator depend on.
struct group {
  int size, rank, is_intercommunicator, peers;
};

// Finds out what the bytes of a call depend on. Returns 0 if that is not known. MPI knows the
// communicator better than the table: a wrong answer would have the recorder read an array of the
// program that does not exist.
static int read_group(word handle, struct group *group) {
  if (mpi.Comm_test_inter(handle, &group->is_intercommunicator) != 0) return 0;
  if (mpi.Comm_size(handle, &group->size) != 0) return 0;
  if (mpi.Comm_rank(handle, &group->rank) != 0) return 0;
  group->peers = group->size;
  return !group->is_intercommunicator || mpi.Comm_remote_size(handle, &group->peers) == 0;
}

static enum topology topology_of(word communicator) {
  int status = 0;
  if (mpi.Topo_test == NULL || mpi.Topo_test(communicator, &status) != 0) return NO_TOPOLOGY;
  // Open MPI ompi/include/mpi.h.in; MPICH src/include/mpi.h.in.
  int cartesian = table.library == MPICH ? 2 : 1, graph = table.library == MPICH ? 1 : 2;
  if (status == cartesian) return CARTESIAN;
  if (status == graph) return GRAPH;
  return status == 3 ? DISTRIBUTED_GRAPH : NO_TOPOLOGY;
}

// The messages that a process sends to its neighbors: their number, and a bit for each that goes to
// MPI_PROC_NULL. A Cartesian topology can have two such neighbors for each dimension, in the order
// of the dimensions, first that with the lower coordinate (MPI 4.0, 8.6).
struct neighbors {
  int count;
  uint64_t missing;
};

static struct neighbors neighbors_of(word communicator, int rank) {
  struct neighbors found = {0, 0};
  int dimensions = 0, sources = 0, is_weighted = 0;
  switch (topology_of(communicator)) {
    case CARTESIAN:
      if (mpi.Cartdim_get == NULL || mpi.Cart_shift == NULL) break;
      if (mpi.Cartdim_get(communicator, &dimensions) != 0) break;
      for (int at = 0; at < dimensions; at++) {
        int lower = 0, upper = 0;
        if (mpi.Cart_shift(communicator, at, 1, &lower, &upper) != 0) return found;
        found.missing |= at < 32 ? (uint64_t)((lower < 0) | (upper < 0) << 1) << 2 * at : 0;
        found.count += 2;
      }
      break;
    case GRAPH:
      if (mpi.Graph_neighbors_count) mpi.Graph_neighbors_count(communicator, rank, &found.count);
      break;
    case DISTRIBUTED_GRAPH:
      if (mpi.Dist_graph_neighbors_count == NULL) break;
      mpi.Dist_graph_neighbors_count(communicator, &sources, &found.count, &is_weighted);
      break;
    case NO_TOPOLOGY: break;
  }
  return found;
}

static uint64_t size_of(struct span *span, word type) {
  // A null datatype is valid where it is not significant.
  if (type == 0 || type == handles.null_type) return 0;
  int64_t size = 0;
  int is_known = !is_freed_since(span->freed_count, type) && mpi.Type_size_x(type, &size) == 0;
  if (!is_known) span->has_unknown = 1;
  return !is_known || size < 0 ? 0 : (uint64_t)size;
}

static word type_argument(const struct span *span, word argument) {
  if (span->binding == BINDING_C) return to_handle(argument);
  return handle_at(argument, 0, span->binding, mpi.Type_f2c);
}

static int64_t count_argument(const struct span *span, const struct call *what, word argument) {
  if (!what->large) return integer(span, argument);
  return span->binding == BINDING_C ? (int64_t)argument : *(const int64_t *)argument;
}

static int64_t count_at(const struct call *what, word counts, int at) {
  return what->large ? ((const int64_t *)counts)[at] : ((const int *)counts)[at];
}

// The blocks that a call sends: from the first one to the one before `end`, without those whose bit
// is set, and without that of the process itself if it keeps it.
struct blocks {
  int first, end, kept;
  uint64_t missing;
};

static int is_sent(const struct blocks *blocks, int at) {
  return at != blocks->kept && !(at < 64 && (blocks->missing >> at & 1));
}

// Returns the bytes of blocks whose numbers of elements are in an array.
static uint64_t bytes_of_array(struct span *span, const struct call *what,
                               const struct data *data, const word *arguments,
                               const struct blocks *blocks) {
  word counts = arguments[data->counts - 1];
  uint64_t elements = 0, bytes = 0;
  for (int at = blocks->first; at < blocks->end; at++) {
    int64_t count = is_sent(blocks, at) ? count_at(what, counts, at) : 0;
    if (count <= 0) continue;
    elements += (uint64_t)count;
    if (data->types == 0) continue;
    word type = handle_at(arguments[data->types - 1], (size_t)at, span->binding, mpi.Type_f2c);
    bytes += (uint64_t)count * size_of(span, type);
  }
  if (data->types != 0 || elements == 0) return bytes;
  return elements * size_of(span, type_argument(span, arguments[data->type - 1]));
}

static uint64_t bytes_of(struct span *span, const struct call *what, const struct data *data,
                         const word *arguments, const struct blocks *blocks) {
  if (data->counts != 0) return bytes_of_array(span, what, data, arguments, blocks);
  int64_t count = data->elements;
  if (data->count != 0) count = count_argument(span, what, arguments[data->count - 1]);
  uint64_t sent = 0;
  for (int at = blocks->first; at < blocks->end; at++) sent += (uint64_t)is_sent(blocks, at);
  if (count <= 0 || sent == 0) return 0;
  return sent * (uint64_t)count * size_of(span, type_argument(span, arguments[data->type - 1]));
}

// MPI_IN_PLACE is the address 1 in Open MPI and -1 in MPICH, and that of a variable in Fortran.
static int is_in_place(const struct span *span, word buffer) {
  if (span->binding == BINDING_C) return buffer == 1 || buffer == (word)-1;
  return buffer != 0 && buffer == fortran_in_place;
}

static int is_no_operation(const struct span *span, word argument) {
  word operation = span->binding == BINDING_C ? to_handle(argument)
                                              : handle_at(argument, 0, span->binding, mpi.Op_f2c);
  return operation != 0 && operation == handles.no_operation;
}

// Whether the process sends data in a call with a root. In an intercommunicator, the root of its
// own group is MPI_ROOT, and MPI_PROC_NULL in the other processes of this group. The processes of
// the other group name the rank of the root (MPI 4.0, 6.2.3).
static int sends_for_root(const struct call *what, const struct group *group, int root) {
  if (!group->is_intercommunicator) return !what->at_root || root == group->rank;
  return what->at_root ? root == (table.library == MPICH ? -3 : -4) : root >= 0;
}

static struct blocks blocks_of(const struct call *what, const struct group *group,
                               word communicator) {
  struct blocks blocks = {0, 1, -1, 0};
  if (what->blocks == PEERS) blocks.end = group->peers;
  if (what->blocks == MEMBERS) blocks.end = group->size;
  if (what->blocks != NEIGHBORS) return blocks;
  struct neighbors neighbors = neighbors_of(communicator, group->rank);
  blocks.end = neighbors.count;
  blocks.missing = neighbors.missing;
  return blocks;
}

// Returns the bytes that a call sends. The MPI library may end the program if it is asked for the
// size of an invalid datatype, so it is only asked if the arguments are significant, and therefore
// valid after a call that succeeded.
static uint64_t sent_bytes(struct span *span, const struct call *what, const word *arguments) {
  const struct data *data = &what->sent;
  if (data->type == 0 && data->types == 0) return 0;
  if (what->to != 0 && integer(span, arguments[what->to - 1]) < 0) return 0;
  if (what->operation != 0 && is_no_operation(span, arguments[what->operation - 1])) return 0;
  struct group group = {0, 0, 0, 0};
  if (what->root != 0 || what->blocks != 0 || what->in_place.is_own) {
    int is_freed = is_freed_since(span->freed_count, span->communicator);
    if (span->communicator == 0 || is_freed || !read_group(span->communicator, &group)) {
      span->has_unknown = 1;
      return 0;
    }
  }
  int root = what->root == 0 ? 0 : integer(span, arguments[what->root - 1]);
  if (what->root != 0 && !sends_for_root(what, &group, root)) return 0;
  struct blocks blocks = blocks_of(what, &group, span->communicator);
  if (what->has_in_place && is_in_place(span, arguments[0])) {
    data = &what->in_place;
    if (data->type == 0 && data->types == 0) return 0;
    if (data->is_own) blocks = (struct blocks){group.rank, group.rank + 1, -1, 0};
  }
  if (what->keeps != 0 && is_in_place(span, arguments[what->keeps - 1])) blocks.kept = group.rank;
  return bytes_of(span, what, data, arguments, &blocks);
}
