// Makes, uses, frees and gets again handles of each kind, by each function of the standard that the
// MPI library has, in two processes. Prints for each function the calls and the bytes that this
// process has sent: rank, name, calls, bytes. MPI libraries give the same handles again, so that a
// handle stands for one object after another.
//
// Arguments that are not significant are addresses that cannot be read, and arrays end where memory
// ends. An error handler counts all errors. With an argument, the program also makes communicators
// with other jobs. It is linked with the functions for Fortran, which it calls by their symbols.
#define _GNU_SOURCE
#include <mpi.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define RANKS 2
#define E ((long)sizeof(int))

static int rank, errors;
static int data[64], other[64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
  const char *name;
  long calls, bytes;
} sums[256];

static void note(const char *name, long bytes) {
  int at = 0;
  pthread_mutex_lock(&mutex);
  while (sums[at].name != NULL && strcmp(sums[at].name, name) != 0) at++;
  sums[at].name = name;
  sums[at].calls++;
  sums[at].bytes += bytes;
  pthread_mutex_unlock(&mutex);
}

// The name of the function, the bytes that this process sends, and the arguments.
#define DO(name, bytes, ...) \
  do {                       \
    MPI_##name(__VA_ARGS__); \
    note(#name, bytes);      \
  } while (0)

// Memory that cannot be read, and an array in front of it.
static char *nowhere;

#define NOWHERE ((void *)nowhere)

static void make_memory(void) {
  long page = sysconf(_SC_PAGESIZE);
  char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  nowhere = memory + page;
  mprotect(nowhere, page, PROT_NONE);
}

// Returns an array of numbers, each the same, that ends where memory ends. There is one at a time.
static int *numbers(int count, int value) {
  int *array = (int *)nowhere - count;
  for (int at = 0; at < count; at++) array[at] = value;
  return array;
}

static MPI_Datatype *types(int count) {
  MPI_Datatype *array = (MPI_Datatype *)nowhere - count;
  for (int at = 0; at < count; at++) array[at] = MPI_INT;
  return array;
}

// --- Communicators ---

static void use_members(MPI_Comm all, int size, int me) {
  int offsets[] = {0, 8 * sizeof(int), 16 * sizeof(int)}, small[] = {0, 8, 16};
  int threes[] = {3, 3, 3}, ones[] = {1, 1, 1}, to = (me + 1) % size, from = (me + size - 1) % size;
  MPI_Datatype kinds[] = {MPI_INT, MPI_INT, MPI_INT};
  for (int root = 0; root < size; root++) {
    int is_root = root == me;
    void *counts = is_root ? numbers(size, 2) : NOWHERE;
    DO(Scatterv, is_root ? size * 2 * E : 0, is_root ? data : NOWHERE, counts,
       is_root ? small : NOWHERE, is_root ? MPI_INT : MPI_DATATYPE_NULL, other, 2, MPI_INT, root,
       all);
    DO(Gatherv, 2 * E, data, 2, MPI_INT, is_root ? other : NOWHERE, counts,
       is_root ? small : NOWHERE, is_root ? MPI_INT : MPI_DATATYPE_NULL, root, all);
    DO(Bcast, is_root ? 5 * E : 0, data, 5, MPI_INT, root, all);
    DO(Reduce, 4 * E, data, other, 4, MPI_INT, MPI_SUM, root, all);
    DO(Scatter, is_root ? size * E : 0, is_root ? data : NOWHERE, 1,
       is_root ? MPI_INT : MPI_DATATYPE_NULL, other, 1, MPI_INT, root, all);
  }
  DO(Alltoallv, size * 3 * E, data, numbers(size, 3), small, MPI_INT, other, threes, small, MPI_INT,
     all);
  DO(Alltoallw, size * E, data, ones, offsets, types(size), other, ones, offsets, kinds, all);
  DO(Allgatherv, 3 * E, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, other, numbers(size, 3), small, MPI_INT,
     all);
  DO(Reduce_scatter, size * 2 * E, data, other, numbers(size, 2), MPI_INT, MPI_SUM, all);
  DO(Sendrecv, 6 * E, data, 6, MPI_INT, to, 0, other, 6, MPI_INT, from, 0, all,
     MPI_STATUS_IGNORE);
  DO(Barrier, 0, all);
}

static void use_groups(MPI_Comm between, int is_first) {
  int size, mine, me;
  int small[] = {0, 8, 16}, threes[] = {3, 3, 3};
  MPI_Comm_remote_size(between, &size);
  MPI_Comm_size(between, &mine);
  MPI_Comm_rank(between, &me);
  for (int turn = 0; turn < 2; turn++) {
    int is_sending = turn == is_first, is_root = is_sending && me == 0;
    int root = !is_sending ? 0 : is_root ? MPI_ROOT : MPI_PROC_NULL;
    int *counts = is_root ? numbers(size, 2) : NOWHERE;
    MPI_Datatype type = is_root ? MPI_INT : MPI_DATATYPE_NULL;
    MPI_Datatype into = is_sending ? MPI_DATATYPE_NULL : MPI_INT;
    void *received = is_sending ? NOWHERE : other;
    DO(Scatterv, is_root ? size * 2 * E : 0, is_root ? data : NOWHERE, counts,
       is_root ? small : NOWHERE, type, received, 2, into, root, between);
    DO(Gatherv, is_sending ? 0 : 2 * E, is_sending ? NOWHERE : data, 2, into,
       is_root ? other : NOWHERE, counts, is_root ? small : NOWHERE, type, root, between);
    DO(Bcast, is_root ? 5 * E : 0, is_sending && !is_root ? NOWHERE : data, 5, MPI_INT, root,
       between);
    DO(Scatter, is_root ? size * E : 0, is_root ? data : NOWHERE, 1, type, received, 1, into, root,
       between);
    DO(Reduce, is_sending ? 0 : 4 * E, data, other, 4, MPI_INT, MPI_SUM, root, between);
  }
  DO(Alltoallv, size * 3 * E, data, numbers(size, 3), small, MPI_INT, other, threes, small, MPI_INT,
     between);
  DO(Allgather, 2 * E, data, 2, MPI_INT, other, 2, MPI_INT, between);
  DO(Barrier, 0, between);
}

// Uses a communicator; `is_first` says whether this process is in the first of two groups.
static void use(MPI_Comm communicator, int is_first) {
  int is_between, size, me;
  MPI_Comm_test_inter(communicator, &is_between);
  MPI_Comm_size(communicator, &size);
  MPI_Comm_rank(communicator, &me);
  if (is_between) use_groups(communicator, is_first);
  else use_members(communicator, size, me);
}

static MPI_Comm make_between(void) {
  MPI_Comm alone, between;
  DO(Comm_split, 0, MPI_COMM_WORLD, rank, 0, &alone);
  DO(Intercomm_create, 0, alone, 0, MPI_COMM_WORLD, 1 - rank, 0, &between);
  DO(Comm_free, 0, &alone);
  return between;
}

static MPI_Group group_of(MPI_Comm communicator) {
  MPI_Group group;
  MPI_Comm_group(communicator, &group);
  return group;
}

static MPI_Comm make_wide(int maker) {
  int wide[] = {RANKS}, no[] = {0}, one[] = {1}, ends[] = {1, 2}, edges[] = {1, 0}, next = 1 - rank;
  MPI_Comm made = MPI_COMM_NULL, between;
  MPI_Group group = group_of(MPI_COMM_WORLD);
  MPI_Request request;
  switch (maker) {
    case 0: DO(Comm_dup, 0, MPI_COMM_WORLD, &made); break;
    case 1: DO(Comm_dup_with_info, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &made); break;
    case 2:
      DO(Comm_idup, 0, MPI_COMM_WORLD, &made, &request);
      DO(Wait, 0, &request, MPI_STATUS_IGNORE);
      break;
    case 3: DO(Comm_create, 0, MPI_COMM_WORLD, group, &made); break;
    case 4:
      DO(Comm_split_type, 0, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
      break;
    case 5:
      between = make_between();
      DO(Intercomm_merge, 0, between, rank, &made);
      DO(Comm_free, 0, &between);
      break;
    case 6: DO(Cart_create, 0, MPI_COMM_WORLD, 1, wide, no, 0, &made); break;
    case 7: DO(Graph_create, 0, MPI_COMM_WORLD, RANKS, ends, edges, 0, &made); break;
    case 8:
      DO(Dist_graph_create, 0, MPI_COMM_WORLD, 1, &rank, one, &next, MPI_UNWEIGHTED, MPI_INFO_NULL,
         0, &made);
      break;
    case 9:
      DO(Dist_graph_create_adjacent, 0, MPI_COMM_WORLD, 1, &next, MPI_UNWEIGHTED, 1, &next,
         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
      break;
    case 10: DO(Comm_split, 0, MPI_COMM_WORLD, 0, -rank, &made); break;
#if MPI_VERSION >= 4
    case 11:
      DO(Comm_idup_with_info, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &made, &request);
      DO(Wait, 0, &request, MPI_STATUS_IGNORE);
      break;
    case 12:
      MPI_Comm_create_from_group(group, "wide", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
      break;
#endif
  }
  MPI_Group_free(&group);
  return made;
}

static MPI_Comm make_narrow(int maker) {
  int wide[] = {RANKS}, no[] = {0};
  MPI_Comm made = MPI_COMM_NULL, cart;
  MPI_Group group = group_of(MPI_COMM_SELF);
  switch (maker % 5) {
    case 0: DO(Comm_dup, 0, MPI_COMM_SELF, &made); break;
    case 1: DO(Comm_split, 0, MPI_COMM_WORLD, rank, 0, &made); break;
    case 2: DO(Comm_create, 0, MPI_COMM_WORLD, group, &made); break;
    case 3: DO(Comm_create_group, 0, MPI_COMM_WORLD, group, 7, &made); break;
    case 4:
      DO(Cart_create, 0, MPI_COMM_WORLD, 1, wide, no, 0, &cart);
      DO(Cart_sub, 0, cart, no, &made);
      DO(Comm_free, 0, &cart);
      break;
  }
  MPI_Group_free(&group);
  return made;
}

static MPI_Comm make_two_groups(int maker) {
  MPI_Comm made = MPI_COMM_NULL, between = make_between();
  MPI_Group group = group_of(between);
  MPI_Request request;
  switch (maker % 5) {
    case 0: return MPI_Group_free(&group), between;
    case 1: DO(Comm_dup, 0, between, &made); break;
    case 2: DO(Comm_create, 0, between, group, &made); break;
    case 3: DO(Comm_split, 0, between, 0, 0, &made); break;
    case 4:
      DO(Comm_idup, 0, between, &made, &request);
      DO(Wait, 0, &request, MPI_STATUS_IGNORE);
      break;
  }
  DO(Comm_free, 0, &between);
  MPI_Group_free(&group);
  return made;
}

extern void mpi_comm_free_(MPI_Fint *, MPI_Fint *), mpi_comm_free_f08_(MPI_Fint *, MPI_Fint *);
extern void mpi_comm_disconnect_(MPI_Fint *, MPI_Fint *);

static int free_other(MPI_Comm communicator, int key, void *value, void *state) {
  MPI_Comm held = *(MPI_Comm *)value;
  return MPI_Comm_free(&held);
}

// Frees a communicator in the function that another one calls when it is freed.
static void free_nested(MPI_Comm *communicator) {
  MPI_Comm holder;
  int key;
  DO(Comm_dup, 0, MPI_COMM_SELF, &holder);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_other, &key, NULL);
  MPI_Comm_set_attr(holder, key, communicator);
  DO(Comm_free, 0, &holder);
  MPI_Comm_free_keyval(&key);
}

static int fails;
static int refuse(MPI_Comm communicator, int key, void *value, void *state) {
  return fails ? MPI_ERR_OTHER : MPI_SUCCESS;
}

// Fails to free a communicator, uses it again, and frees it.
static void free_later(MPI_Comm *communicator) {
  MPI_Comm again = *communicator;
  int key, known = errors;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL);
  MPI_Comm_set_attr(again, key, NULL);
  fails = 1;
  DO(Comm_free, 0, &again);
  fails = 0;
  errors = known;
  use(*communicator, rank == 0);
  DO(Comm_free, 0, communicator);
  MPI_Comm_free_keyval(&key);
}

#define WAYS 8

static void free_by(int way, MPI_Comm *communicator) {
  MPI_Fint number = MPI_Comm_c2f(*communicator), error = 0;
  switch (way) {
    case 0: DO(Comm_free, 0, communicator); break;
    case 1: DO(Comm_disconnect, 0, communicator); break;
    case 2: free_nested(communicator); break;
    case 3: PMPI_Comm_free(communicator); break;
    case 4: PMPI_Comm_disconnect(communicator); break;
    case 5: mpi_comm_free_(&number, &error), note("Comm_free", 0); break;
    case 6: mpi_comm_free_f08_(&number, NULL), note("Comm_free", 0); break;
    case 7: mpi_comm_disconnect_(&number, &error), note("Comm_disconnect", 0); break;
  }
}

static void use_communicators(void) {
  for (int maker = 0; maker < 13; maker++) {
    for (int kind = 0; kind < 3; kind++) {
      MPI_Comm made = kind == 0   ? make_wide(maker)
                      : kind == 1 ? make_narrow(maker)
                                  : make_two_groups(maker);
      if (made == MPI_COMM_NULL) continue;
      use(made, rank == 0);
      free_by((maker + 3 * kind) % WAYS, &made);
    }
  }
  MPI_Comm made = make_wide(0);
  free_later(&made);
}

// --- Requests ---

extern void mpi_request_free_(MPI_Fint *, MPI_Fint *);
extern void mpi_request_free_f08_(MPI_Fint *, MPI_Fint *);

static void free_request(int way, MPI_Request *request) {
  MPI_Fint number = MPI_Request_c2f(*request), error = 0;
  switch (way) {
    case 0: MPI_Request_free(request); break;
    case 1: PMPI_Request_free(request); break;
    case 2: mpi_request_free_(&number, &error); break;
    case 3: mpi_request_free_f08_(&number, &error); break;
  }
}

static int query(void *state, MPI_Status *status) {
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = status->MPI_TAG = 0;
  return MPI_SUCCESS;
}

static int forget(void *state) { return MPI_SUCCESS; }
static int cancel(void *state, int is_complete) { return MPI_SUCCESS; }

// Starts a persistent request that sends to this process, and completes it.
static void start(MPI_Request *request, int count, long bytes) {
  MPI_Request received;
  DO(Irecv, 0, other, count, MPI_INT, 0, 1, MPI_COMM_SELF, &received);
  DO(Start, bytes, request);
  DO(Wait, 0, request, MPI_STATUS_IGNORE);
  DO(Wait, 0, &received, MPI_STATUS_IGNORE);
}

// Completes two requests by one of the functions that can.
static void complete(int way, MPI_Request *all) {
  int flag = 0, at, count = 0, indices[2];
  for (int done = 0; done < 2; done += way > 3 ? count : flag ? 1 + (way < 2) : 0) {
    switch (way) {
      case 0: DO(Waitall, 0, 2, all, MPI_STATUSES_IGNORE); flag = 1; break;
      case 1: DO(Testall, 0, 2, all, &flag, MPI_STATUSES_IGNORE); break;
      case 2: DO(Waitany, 0, 2, all, &at, MPI_STATUS_IGNORE); flag = 1; break;
      case 3: DO(Testany, 0, 2, all, &at, &flag, MPI_STATUS_IGNORE); break;
      case 4: DO(Waitsome, 0, 2, all, &count, indices, MPI_STATUSES_IGNORE); break;
      case 5: DO(Testsome, 0, 2, all, &count, indices, MPI_STATUSES_IGNORE); break;
    }
  }
}

static void use_requests(void) {
  MPI_Request request, all[2];
  int flag, indices[2];
  for (int way = 0; way < 4; way++) {
    DO(Send_init, 0, data, 3, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    start(&request, 3, 3 * E);
    free_request(way, &request);
    DO(Send_init, 0, data, 5, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    start(&request, 5, 5 * E);
    free_request(way, &request);
    // The recorder does not know this request, so it does not count its bytes.
    PMPI_Send_init(data, 7, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    start(&request, 7, 0);
    free_request(way, &request);
  }
  for (int way = 0; way < 6; way++) {
    DO(Irecv, 0, other, 2, MPI_INT, 0, 2, MPI_COMM_SELF, &all[0]);
    DO(Isend, 2 * E, data, 2, MPI_INT, 0, 2, MPI_COMM_SELF, &all[1]);
    complete(way, all);
    // Their handles now stand for requests that the recorder does not know.
    for (int round = 0; round < 2; round++) {
      MPI_Grequest_start(query, forget, cancel, NULL, &all[round]);
      MPI_Grequest_complete(all[round]);
    }
    for (int round = 0; round < 2; round++) {
      for (flag = 0; !flag;) DO(Test, 0, &all[round], &flag, MPI_STATUS_IGNORE);
    }
    PMPI_Send_init(data, 7, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    start(&request, 7, 0);
    PMPI_Request_free(&request);
  }
#if MPI_VERSION >= 4
  int is_root = rank == 1;
  for (int round = 0; round < 2; round++) {
    void *counts = is_root ? numbers(RANKS, 2 + round) : NOWHERE;
    DO(Scatterv_init, 0, is_root ? data : NOWHERE, counts, is_root ? indices : NOWHERE,
       is_root ? MPI_INT : MPI_DATATYPE_NULL, other, 2 + round, MPI_INT, 1, MPI_COMM_WORLD,
       MPI_INFO_NULL, &request);
    indices[0] = indices[1] = 0;
    DO(Start, is_root ? RANKS * (2 + round) * E : 0, &request);
    DO(Wait, 0, &request, MPI_STATUS_IGNORE);
    free_request(round, &request);
  }
  MPI_Request partitioned, received;
  for (int round = 0; round < 3; round++) {
    if (round < 2) {
      DO(Psend_init, 0, data, 2, 3 + round, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
         &partitioned);
    } else {
      PMPI_Psend_init(data, 2, 3 + round, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &partitioned);
    }
    DO(Precv_init, 0, other, 2, 3 + round, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
       &received);
    DO(Start, 0, &partitioned);
    DO(Start, 0, &received);
    DO(Pready_range, round < 2 ? 2 * (3 + round) * E : 0, 0, 1, partitioned);
    DO(Wait, 0, &partitioned, MPI_STATUS_IGNORE);
    DO(Wait, 0, &received, MPI_STATUS_IGNORE);
    free_request(round, &partitioned);
    free_request(round, &received);
  }
#endif
}

// --- Datatypes and windows ---

extern void mpi_type_free_(MPI_Fint *, MPI_Fint *), mpi_type_free_f08_(MPI_Fint *, MPI_Fint *);

static void free_type(int way, MPI_Datatype *type) {
  MPI_Fint number = MPI_Type_c2f(*type), error = 0;
  switch (way) {
    case 0: MPI_Type_free(type); break;
    case 1: PMPI_Type_free(type); break;
    case 2: mpi_type_free_(&number, &error); break;
    case 3: mpi_type_free_f08_(&number, &error); break;
  }
}

// Returns a datatype with so many integers.
static MPI_Datatype make_type(int maker, int *integers) {
  int two[] = {2, 1}, one[] = {1, 1}, at[] = {0, 3}, zero[] = {0}, four[] = {4};
  int block[] = {MPI_DISTRIBUTE_BLOCK}, whole[] = {MPI_DISTRIBUTE_DFLT_DARG};
  MPI_Aint far[] = {0, 12};
  MPI_Datatype kinds[] = {MPI_INT, MPI_INT}, type = MPI_DATATYPE_NULL, copied;
  static const int sizes[] = {4, 6, 2, 3, 2, 3, 3, 2, 2, 1, 1, 2, 4};
  *integers = sizes[maker];
  switch (maker) {
    case 0: MPI_Type_contiguous(4, MPI_INT, &type); break;
    case 1: MPI_Type_vector(3, 2, 4, MPI_INT, &type); break;
    case 2: MPI_Type_create_hvector(2, 1, 8, MPI_INT, &type); break;
    case 3: MPI_Type_indexed(2, two, at, MPI_INT, &type); break;
    case 4: MPI_Type_create_indexed_block(2, 1, at, MPI_INT, &type); break;
    case 5: MPI_Type_create_hindexed(2, two, far, MPI_INT, &type); break;
    case 6: MPI_Type_create_struct(2, two, far, kinds, &type); break;
    case 7: MPI_Type_create_subarray(1, four, two, zero, MPI_ORDER_C, MPI_INT, &type); break;
    case 8:
      MPI_Type_create_darray(2, 0, 1, four, block, whole, two, MPI_ORDER_C, MPI_INT, &type);
      break;
    case 9: MPI_Type_dup(MPI_INT, &type); break;
    case 10: MPI_Type_create_resized(MPI_INT, 0, 16, &type); break;
    case 11: MPI_Type_create_hindexed_block(2, 1, far, MPI_INT, &type); break;
    case 12:
      MPI_Type_contiguous(4, MPI_INT, &kinds[0]);
      MPI_Type_dup(kinds[0], &copied);
      MPI_Type_get_contents(copied, 0, 0, 1, NULL, NULL, &type);
      MPI_Type_free(&copied);
      MPI_Type_free(&kinds[0]);
      break;
  }
  return type;
}

#define TYPES 13

#if MPI_VERSION >= 4
// The same by the functions for large counts.
static MPI_Datatype make_large_type(int maker, int *integers) {
  MPI_Count two[] = {2, 1}, one[] = {1, 1}, at[] = {0, 3}, zero[] = {0}, four[] = {4};
  int block[] = {MPI_DISTRIBUTE_BLOCK}, whole[] = {MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2};
  MPI_Count far[] = {0, 12}, counts[2];
  MPI_Datatype kinds[] = {MPI_INT, MPI_INT}, type = MPI_DATATYPE_NULL, copied;
  static const int sizes[] = {4, 6, 2, 3, 2, 3, 3, 2, 2, 3, 1, 2, 4};
  *integers = sizes[maker];
  switch (maker) {
    case 0: MPI_Type_contiguous_c(4, MPI_INT, &type); break;
    case 1: MPI_Type_vector_c(3, 2, 4, MPI_INT, &type); break;
    case 2: MPI_Type_create_hvector_c(2, 1, 8, MPI_INT, &type); break;
    case 3: MPI_Type_indexed_c(2, two, at, MPI_INT, &type); break;
    case 4: MPI_Type_create_indexed_block_c(2, 1, at, MPI_INT, &type); break;
    case 5: MPI_Type_create_hindexed_c(2, two, far, MPI_INT, &type); break;
    case 6: MPI_Type_create_struct_c(2, two, far, kinds, &type); break;
    case 7: MPI_Type_create_subarray_c(1, four, two, zero, MPI_ORDER_C, MPI_INT, &type); break;
    case 8:
      MPI_Type_create_darray_c(2, 0, 1, four, block, whole, grid, MPI_ORDER_C, MPI_INT, &type);
      break;
    case 9: MPI_Type_create_struct_c(2, two, far, kinds, &type); break;
    case 10: MPI_Type_create_resized_c(MPI_INT, 0, 16, &type); break;
    case 11: MPI_Type_create_hindexed_block_c(2, 1, far, MPI_INT, &type); break;
    case 12:
      MPI_Type_contiguous_c(4, MPI_INT, &kinds[0]);
      MPI_Type_dup(kinds[0], &copied);
      MPI_Type_get_contents_c(copied, 0, 0, 0, 1, NULL, NULL, counts, &type);
      MPI_Type_free(&copied);
      MPI_Type_free(&kinds[0]);
      break;
  }
  return type;
}
#endif

static void use_type(MPI_Datatype type, int integers, int way) {
  MPI_Type_commit(&type);
  DO(Sendrecv, 2 * integers * E, data, 2, type, 1 - rank, 0, other, 2, type, 1 - rank, 0,
     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free_type(way, &type);
}

static void use_types(void) {
  int integers;
  for (int maker = 0; maker < TYPES; maker++) {
    for (int way = 0; way < 4; way++) {
      MPI_Datatype type = make_type(maker, &integers);
      use_type(type, integers, way);
#if MPI_VERSION >= 4
      type = make_large_type(maker, &integers);
      use_type(type, integers, way);
#endif
    }
  }
}

static void use_windows(void) {
  static int memory[16];
  int *base;
  MPI_Aint shift;
  MPI_Win window;
  for (int maker = 0; maker < 8; maker++) {
    MPI_Aint place = 0;
    if (maker % 4 == 0) {
      DO(Win_create, 0, memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    }
    if (maker % 4 == 1) DO(Win_allocate, 0, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    if (maker % 4 == 2) {
      DO(Win_allocate_shared, 0, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    }
    if (maker % 4 == 3) {
      DO(Win_create_dynamic, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
      MPI_Win_attach(window, memory, sizeof memory);
      MPI_Get_address(memory, &shift);
      DO(Sendrecv, 8, &shift, 8, MPI_BYTE, 1 - rank, 0, &place, 8, MPI_BYTE, 1 - rank, 0,
         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    DO(Win_fence, 0, 0, window);
    DO(Put, (maker + 1) * E, data, maker + 1, MPI_INT, 1 - rank, place, maker + 1, MPI_INT, window);
    DO(Win_fence, 0, 0, window);
    if (maker % 4 == 3) MPI_Win_detach(window, memory);
    if (maker < 4) DO(Win_free, 0, &window);
    else PMPI_Win_free(&window);
  }
}

// --- Groups, files and others ---

static MPI_File open_file(void) {
  const char *folder = getenv("TMPDIR");
  char path[4096];
  MPI_File file;
  snprintf(path, sizeof path, "%s/handles-%d", folder == NULL ? "/tmp" : folder, getpid());
  DO(File_open, 0, MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
     MPI_INFO_NULL, &file);
  return file;
}

// Returns a group of both processes, or only of this one.
static MPI_Group make_group(int maker, MPI_File file, MPI_Win window, MPI_Comm between) {
  MPI_Group world = group_of(MPI_COMM_WORLD), self = group_of(MPI_COMM_SELF), far, group;
  int next = 1 - rank, all[][3] = {{0, 1, 1}}, far_range[][3] = {{next, next, 1}};
  switch (maker) {
    case 0: MPI_Group_union(world, self, &group); break;
    case 1: MPI_Group_intersection(world, self, &group); break;
    case 2: MPI_Group_incl(world, 1, &rank, &group); break;
    case 3: MPI_Group_excl(world, 1, &next, &group); break;
    case 4: MPI_Group_range_incl(world, 1, all, &group); break;
    case 5: MPI_Group_range_excl(world, 1, far_range, &group); break;
    case 6: MPI_File_get_group(file, &group); break;
    case 7: MPI_Win_get_group(window, &group); break;
    case 8:
      MPI_Comm_remote_group(between, &far);
      MPI_Group_difference(world, far, &group);
      MPI_Group_free(&far);
      break;
  }
  MPI_Group_free(&world);
  MPI_Group_free(&self);
  return group;
}

static void use_groups_of(MPI_File file, MPI_Win window) {
  MPI_Comm between = make_between(), made;
  for (int maker = 0; maker < 18; maker++) {
    MPI_Group group = make_group(maker % 9, file, window, between);
    DO(Comm_create_group, 0, MPI_COMM_WORLD, group, maker, &made);
    MPI_Group_free(&group);
    use(made, rank == 0);
    DO(Comm_free, 0, &made);
  }
  DO(Comm_free, 0, &between);
}

static void use_information(MPI_File file, MPI_Win window) {
  MPI_Info own, copied, of_object;
  MPI_Info_create(&own);
  MPI_Info_set(own, "key", "value");
  MPI_Info_dup(own, &copied);
  MPI_Comm_get_info(MPI_COMM_WORLD, &of_object);
  MPI_Info_free(&of_object);
  MPI_Win_get_info(window, &of_object);
  MPI_Info_free(&of_object);
  MPI_File_get_info(file, &of_object);
  MPI_Info_free(&of_object);
  MPI_Info_free(&copied);
  MPI_Info_free(&own);
#if MPI_VERSION >= 4
  MPI_Info_create_env(0, NULL, &own);
  MPI_Info_free(&own);
#endif
}

static void count_error(MPI_Comm *communicator, int *code, ...) { errors++; }
static void count_window_error(MPI_Win *window, int *code, ...) { errors++; }
static void count_file_error(MPI_File *file, int *code, ...) { errors++; }

static void use_handlers(MPI_File file, MPI_Win window) {
  MPI_Errhandler handler, got;
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler);
  MPI_Win_create_errhandler(count_window_error, &handler);
  MPI_Win_set_errhandler(window, handler);
  MPI_Win_get_errhandler(window, &got);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler);
  MPI_File_create_errhandler(count_file_error, &handler);
  MPI_File_set_errhandler(file, handler);
  MPI_File_get_errhandler(file, &got);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler);
}

static void add(void *in, void *out, int *count, MPI_Datatype *type) {
  for (int at = 0; at < *count; at++) ((int *)out)[at] += ((int *)in)[at];
}

#if MPI_VERSION >= 4
static void add_many(void *in, void *out, MPI_Count *count, MPI_Datatype *type) {
  int number = *count;
  add(in, out, &number, type);
}
#endif

static void use_operations(int round) {
  MPI_Op operation;
  MPI_Op_create(add, 1, &operation);
  DO(Allreduce, (round + 1) * E, data, other, round + 1, MPI_INT, operation, MPI_COMM_WORLD);
  MPI_Op_free(&operation);
#if MPI_VERSION >= 4
  MPI_Op_create_c(add_many, 1, &operation);
  DO(Allreduce, (round + 1) * E, data, other, round + 1, MPI_INT, operation, MPI_COMM_WORLD);
  MPI_Op_free(&operation);
#endif
}

static void use_messages(void) {
  MPI_Message message;
  MPI_Request sent, received;
  int flag = 0;
  DO(Isend, E, data, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &sent);
  DO(Mprobe, 0, 1 - rank, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  DO(Mrecv, 0, other, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  DO(Wait, 0, &sent, MPI_STATUS_IGNORE);
  DO(Isend, E, data, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &sent);
  while (!flag) {
    DO(Improbe, 0, 1 - rank, 3, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
  }
  DO(Imrecv, 0, other, 1, MPI_INT, &message, &received);
  DO(Wait, 0, &received, MPI_STATUS_IGNORE);
  DO(Wait, 0, &sent, MPI_STATUS_IGNORE);
  DO(Irecv, 0, other, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, &received);
  MPI_Cancel(&received);
  DO(Wait, 0, &received, MPI_STATUS_IGNORE);
}

#if MPI_VERSION >= 4
static void count_session_error(MPI_Session *session, int *code, ...) { errors++; }

static void use_sessions(void) {
  MPI_Session session;
  MPI_Group all, mine, far;
  MPI_Comm made;
  MPI_Info information;
  MPI_Errhandler handler, got;
  int next = 1 - rank;
  MPI_Session_create_errhandler(count_session_error, &handler);
  MPI_Session_init(MPI_INFO_NULL, handler, &session);
  MPI_Session_get_errhandler(session, &got);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler);
  MPI_Session_get_info(session, &information);
  MPI_Info_free(&information);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Comm_create_from_group(all, "wide", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  use(made, rank == 0);
  DO(Comm_free, 0, &made);
  MPI_Group_incl(all, 1, &rank, &mine);
  MPI_Group_incl(all, 1, &next, &far);
  MPI_Intercomm_create_from_groups(mine, 0, far, 0, "between", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                   &made);
  use(made, rank == 0);
  DO(Comm_free, 0, &made);
  MPI_Group_free(&far);
  MPI_Group_free(&mine);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
}
#endif

static void use_others(void) {
  static int memory[16];
  for (int round = 0; round < 3; round++) {
    MPI_File file = open_file();
    MPI_Win window;
    DO(Win_create, 0, memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    DO(File_write, 2 * E, file, data, 2, MPI_INT, MPI_STATUS_IGNORE);
    use_groups_of(file, window);
    use_information(file, window);
    use_handlers(file, window);
    DO(Win_free, 0, &window);
    DO(File_close, 0, &file);
    use_operations(round);
    use_messages();
#if MPI_VERSION >= 4
    use_sessions();
#endif
  }
}

// --- Threads ---

struct sent {
  MPI_Comm communicator;
  MPI_Datatype type;
};

static void *send_slowly(void *argument) {
  struct sent *sent = argument;
  MPI_Ssend(data, 1, sent->type, 1, 9, sent->communicator);
  return NULL;
}

static void tell(int peer) { DO(Send, 0, NULL, 0, MPI_INT, peer, 8, MPI_COMM_WORLD); }
static void hear(int peer) {
  DO(Recv, 0, NULL, 0, MPI_INT, peer, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Frees a datatype and a communicator while a call of another thread still uses them. The recorder
// does not count the bytes if it cannot ask for the size of the datatype any more.
static void free_during_call(int frees_type) {
  struct sent sent = {.type = MPI_INT};
  pthread_t thread;
  MPI_Request request;
  DO(Comm_idup, 0, MPI_COMM_WORLD, &sent.communicator, &request);
  DO(Wait, 0, &request, MPI_STATUS_IGNORE);
  if (rank == 0) {
    MPI_Type_contiguous(5, MPI_INT, &sent.type);
    MPI_Type_commit(&sent.type);
    struct sent used = sent;
    pthread_create(&thread, NULL, send_slowly, &used);
    hear(1);
    if (frees_type) MPI_Type_free(&sent.type);
    else DO(Comm_free, 0, &sent.communicator);
    tell(1);
    pthread_join(thread, NULL);
    note("Ssend", frees_type ? 0 : 5 * E);
    if (!frees_type) MPI_Type_free(&sent.type);
    else DO(Comm_free, 0, &sent.communicator);
  } else {
    // The other process is in MPI_Ssend now, and stays there until the message is received.
    DO(Probe, 0, 0, 9, sent.communicator, MPI_STATUS_IGNORE);
    tell(0);
    hear(0);
    DO(Recv, 0, other, 5, MPI_INT, 0, 9, sent.communicator, MPI_STATUS_IGNORE);
    DO(Comm_free, 0, &sent.communicator);
  }
}

// --- Other jobs ---

// Connects both processes with a socket.
static int connect_processes(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  int file = socket(AF_INET, SOCK_STREAM, 0);
  if (rank == 0) {
    bind(file, (struct sockaddr *)&address, size);
    listen(file, 1);
    getsockname(file, (struct sockaddr *)&address, &size);
  }
  DO(Bcast, rank == 0 ? sizeof address : 0, &address, sizeof address, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (rank == 0) return accept(file, NULL, NULL);
  connect(file, (struct sockaddr *)&address, size);
  return file;
}

static void use_jobs(char *program) {
  char port[MPI_MAX_PORT_NAME] = "", *commands[] = {program}, *words[] = {"child", NULL};
  char **lists[] = {words};
  int one[] = {1};
  MPI_Info none[] = {MPI_INFO_NULL};
  MPI_Comm made;
  for (int way = 0; way < 2; way++) {
    if (way == 0) {
      DO(Comm_spawn, 0, program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made,
         MPI_ERRCODES_IGNORE);
    } else {
      DO(Comm_spawn_multiple, 0, 1, commands, lists, one, none, 0, MPI_COMM_WORLD, &made,
         MPI_ERRCODES_IGNORE);
    }
    use(made, 1);
    if (way == 0) DO(Comm_disconnect, 0, &made);
    else PMPI_Comm_disconnect(&made);
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    DO(Bcast, rank == 0 ? MPI_MAX_PORT_NAME : 0, port, MPI_MAX_PORT_NAME, MPI_CHAR, 0,
       MPI_COMM_WORLD);
    if (rank == 0) DO(Comm_accept, 0, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
    else DO(Comm_connect, 0, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
    use(made, rank == 0);
    DO(Comm_disconnect, 0, &made);
    if (rank == 0) MPI_Close_port(port);
    MPI_Comm_join(connect_processes(), &made);
    use(made, rank == 0);
    DO(Comm_disconnect, 0, &made);
  }
}

static void be_child(void) {
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  use(parent, 0);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  exit(0);
}

extern void mpi_barrier_f08_(MPI_Fint *, MPI_Fint *);

// An error handler is called once for each error, also if a program in Fortran asks for no code.
static void fail(void) {
  MPI_Fint none = MPI_Comm_c2f(MPI_COMM_NULL);
  int before = errors;
  mpi_barrier_f08_(&none, NULL), note("Barrier", 0);
  DO(Barrier, 0, MPI_COMM_NULL);
  if (errors - before != 2) printf("%d errors in place of 2\n", errors - before);
  errors = before;
}

// MPI_Finalize calls this function.
static int use_at_end(MPI_Comm communicator, int key, void *value, void *state) {
  MPI_Comm made;
  MPI_Comm_dup(MPI_COMM_SELF, &made);
  MPI_Barrier(made);
  return MPI_Comm_free(&made);
}

int main(int argc, char **argv) {
  int threads, key;
  MPI_Errhandler handler;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  make_memory();
  if (argc > 1 && strcmp(argv[1], "child") == 0) be_child();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_at_end, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  use_communicators();
  use_requests();
  use_types();
  use_windows();
  use_others();
  fail();
  free_during_call(0);
  free_during_call(1);
  use_communicators();
  if (argc > 1) use_jobs(argv[0]);
  if (errors > 0) printf("%d errors\n", errors);
  for (int at = 0; sums[at].name != NULL; at++) {
    printf("%d %s %ld %ld\n", rank, sums[at].name, sums[at].calls, sums[at].bytes);
  }
  fflush(stdout);
  MPI_Finalize();
}
