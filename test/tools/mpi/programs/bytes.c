// Calls every function of MPI that the recorder describes and the MPI library has, in three
// processes, and prints for each the calls and the bytes that this process has sent: rank, name,
// calls, bytes. The bytes stand next to each call: they are counted by hand, by MPI 4.0. The first
// argument is the path of a file to write; with a second one, the program also spawns processes and
// connects to others.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 3
#define E ((long)sizeof(int))

static int rank, next, previous;
// The neighbors in a chain: MPI_PROC_NULL at its ends.
static int upper, lower;
static int data[256], other[256];

static struct {
  const char *name;
  long calls, bytes;
} sums[512];

static void note(const char *name, long bytes) {
  int at = 0;
  while (sums[at].name != NULL && strcmp(sums[at].name, name) != 0) at++;
  sums[at].name = name;
  sums[at].calls++;
  sums[at].bytes += bytes;
}

#define DO_(name, bytes, ...) \
  do {                        \
    MPI_##name(__VA_ARGS__);  \
    note(#name, bytes);       \
  } while (0)
// The name of the function, the bytes that this process sends, and the arguments.
#define DO(name, bytes, ...) DO_(name, bytes, __VA_ARGS__)

// The bytes if this process is the root, or has an upper neighbor.
#define AT(root, bytes) (rank == (root) ? (bytes) : 0)
#define UP(bytes) (upper < 0 ? 0 : (bytes))

#define FORM(name) name
typedef int count_of_small;
typedef int offset_of_small;
#define COUNT count_of_small
#define OFFSET offset_of_small
#include "bytes-forms.h"
#undef FORM
#undef COUNT
#undef OFFSET
#if MPI_VERSION >= 4
#define FORM(name) name##_c
#define COUNT MPI_Count
#define OFFSET MPI_Aint
#include "bytes-forms.h"
#endif

static void complete(void) {
  MPI_Request all[2];
  int flag = 0, index, count, indices[2];
  for (int kind = 0; kind < 8; kind++) {
    DO(Irecv, 0, other, 1, MPI_INT, previous, kind, MPI_COMM_WORLD, &all[0]);
    DO(Isend, E, data, 1, MPI_INT, next, kind, MPI_COMM_WORLD, &all[1]);
    if (kind == 0) DO(Wait, 0, &all[0], MPI_STATUS_IGNORE);
    if (kind == 1) DO(Waitall, 0, 2, all, MPI_STATUSES_IGNORE);
    if (kind == 2) DO(Waitany, 0, 2, all, &index, MPI_STATUS_IGNORE);
    if (kind == 3) DO(Waitsome, 0, 2, all, &count, indices, MPI_STATUSES_IGNORE);
    if (kind == 4) DO(Test, 0, &all[0], &flag, MPI_STATUS_IGNORE);
    if (kind == 5) DO(Testall, 0, 2, all, &flag, MPI_STATUSES_IGNORE);
    if (kind == 6) DO(Testany, 0, 2, all, &index, &flag, MPI_STATUS_IGNORE);
    if (kind == 7) DO(Testsome, 0, 2, all, &count, indices, MPI_STATUSES_IGNORE);
    DO(Waitall, 0, 2, all, MPI_STATUSES_IGNORE);
  }
}

static void probe(void) {
  MPI_Request request;
  MPI_Message message;
  int flag = 0;
  DO(Isend, 2 * E, data, 2, MPI_INT, next, 5, MPI_COMM_WORLD, &request);
  DO(Probe, 0, previous, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  DO(Iprobe, 0, previous, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  DO(Mprobe, 0, previous, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  DO(Mrecv, 0, other, 2, MPI_INT, &message, MPI_STATUS_IGNORE);
  DO(Wait, 0, &request, MPI_STATUS_IGNORE);
  DO(Isend, 2 * E, data, 2, MPI_INT, next, 6, MPI_COMM_WORLD, &request);
  for (flag = 0; !flag;) DO(Improbe, 0, previous, 6, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
  DO(Mrecv, 0, other, 2, MPI_INT, &message, MPI_STATUS_IGNORE);
  DO(Wait, 0, &request, MPI_STATUS_IGNORE);
}

static void create_communicators(void) {
  MPI_Comm made, between;
  MPI_Group group;
  MPI_Request request;
  int three[] = {RANKS}, no[] = {0}, one[] = {1}, ends[] = {2, 4, 6}, edges[] = {1, 2, 0, 2, 0, 1};
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  DO(Comm_dup, 0, MPI_COMM_WORLD, &made);
  DO(Comm_free, 0, &made);
  DO(Comm_dup_with_info, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &made);
  DO(Comm_disconnect, 0, &made);
  DO(Comm_idup, 0, MPI_COMM_WORLD, &made, &request);
  DO(Wait, 0, &request, MPI_STATUS_IGNORE);
  DO(Comm_create, 0, MPI_COMM_WORLD, group, &made);
  DO(Comm_create_group, 0, MPI_COMM_WORLD, group, 0, &made);
  DO(Comm_split, 0, MPI_COMM_WORLD, rank == 2, 0, &made);
  DO(Intercomm_create, 0, made, 0, MPI_COMM_WORLD, rank == 2 ? 0 : 2, 0, &between);
  DO(Intercomm_merge, 0, between, 0, &made);
  DO(Comm_split_type, 0, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
  DO(Cart_create, 0, MPI_COMM_WORLD, 1, three, no, 0, &made);
  DO(Cart_sub, 0, made, one, &made);
  DO(Graph_create, 0, MPI_COMM_WORLD, RANKS, ends, edges, 0, &made);
  DO(Dist_graph_create, 0, MPI_COMM_WORLD, 1, &rank, one, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  DO(Dist_graph_create_adjacent, 0, MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next,
     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
#if MPI_VERSION >= 4
  DO(Comm_idup_with_info, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &made, &request);
  DO(Wait, 0, &request, MPI_STATUS_IGNORE);
#endif
}

static void spawn(char *program) {
  char *commands[] = {program};
  char *words[] = {"child", NULL}, **lists[] = {words};
  int one[] = {1};
  MPI_Comm made;
  MPI_Info none[] = {MPI_INFO_NULL};
  DO(Comm_spawn, 0, program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE);
  DO(Comm_disconnect, 0, &made);
  DO(Comm_spawn_multiple, 0, 1, commands, lists, one, none, 0, MPI_COMM_WORLD, &made,
     MPI_ERRCODES_IGNORE);
  DO(Comm_disconnect, 0, &made);
}

static void connect(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm made;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  DO(Bcast, AT(0, MPI_MAX_PORT_NAME), port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 2) return;
  if (rank == 0) DO(Comm_accept, 0, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
  if (rank == 1) DO(Comm_connect, 0, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
  DO(Comm_disconnect, 0, &made);
}

static void use_windows(void) {
  static int memory[16];
  MPI_Win window, dynamic;
  MPI_Group group, neighbors;
  int flag = 0, value = 1, result, to[] = {next}, from[] = {previous};
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  DO(Win_create_dynamic, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  DO(Win_free, 0, &dynamic);
  DO(Win_create, 0, memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  DO(Win_fence, 0, 0, window);
  DO(Win_fence, 0, 0, window);
  MPI_Group_incl(group, 1, from, &neighbors);
  DO(Win_post, 0, neighbors, 0, window);
  MPI_Group_incl(group, 1, to, &neighbors);
  DO(Win_start, 0, neighbors, 0, window);
  DO(Win_complete, 0, window);
  DO(Win_wait, 0, window);
  MPI_Group_incl(group, 1, from, &neighbors);
  DO(Win_post, 0, neighbors, 0, window);
  MPI_Group_incl(group, 1, to, &neighbors);
  DO(Win_start, 0, neighbors, 0, window);
  DO(Win_complete, 0, window);
  while (!flag) DO(Win_test, 0, window, &flag);
  DO(Win_lock, 0, MPI_LOCK_SHARED, next, 0, window);
  DO(Fetch_and_op, E, &value, &result, MPI_INT, next, 0, MPI_SUM, window);
  DO(Fetch_and_op, 0, NULL, &result, MPI_INT, next, 0, MPI_NO_OP, window);
  DO(Fetch_and_op, 0, &value, &result, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, window);
  // The value and the value to compare with.
  DO(Compare_and_swap, 2 * E, &value, &value, &result, MPI_INT, next, 0, window);
  DO(Compare_and_swap, 0, &value, &value, &result, MPI_INT, MPI_PROC_NULL, 0, window);
  DO(Win_flush, 0, next, window);
  DO(Win_flush_local, 0, next, window);
  DO(Win_unlock, 0, next, window);
  DO(Win_lock_all, 0, 0, window);
  DO(Win_sync, 0, window);
  DO(Win_flush_all, 0, window);
  DO(Win_flush_local_all, 0, window);
  DO(Win_unlock_all, 0, window);
  DO(Barrier, 0, MPI_COMM_WORLD);
  DO(Win_free, 0, &window);
}

static void use_files(const char *path) {
  MPI_File file;
  DO(File_open, 0, MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  DO(File_set_size, 0, file, 4096);
  write_and_read(file);
#if MPI_VERSION >= 4
  write_and_read_c(file);
#endif
  DO(File_sync, 0, file);
  DO(File_close, 0, &file);
}

#if MPI_VERSION >= 4
static void use_partitions(void) {
  MPI_Request send, receive;
  int flag = 0, list[] = {3};
  DO(Psend_init, 0, data, 4, 5, MPI_INT, next, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  DO(Precv_init, 0, other, 4, 5, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  for (int round = 0; round < 2; round++) {
    DO(Start, 0, &send);
    DO(Start, 0, &receive);
    DO(Pready, 5 * E, 0, send);
    DO(Pready_range, 2 * 5 * E, 1, 2, send);
    DO(Pready_list, 5 * E, 1, list, send);
    DO(Parrived, 0, receive, 0, &flag);
    DO(Wait, 0, &send, MPI_STATUS_IGNORE);
    DO(Wait, 0, &receive, MPI_STATUS_IGNORE);
  }
}
#endif

static void disconnect_from_parent(void) {
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  exit(0);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "child") == 0) disconnect_from_parent();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  next = (rank + 1) % RANKS;
  previous = (rank + RANKS - 1) % RANKS;
  upper = rank == RANKS - 1 ? MPI_PROC_NULL : next;
  lower = rank == 0 ? MPI_PROC_NULL : previous;
  MPI_Buffer_attach(malloc(1 << 20), 1 << 20);
  call_all();
#if MPI_VERSION >= 4
  call_all_c();
  use_partitions();
  start_c();
#endif
  // In MPICH 4.0, persistent collectives do not end after persistent messages.
  start();
  complete();
  probe();
  create_communicators();
  use_windows();
  use_files(argv[1]);
  if (argc > 2) spawn(argv[0]);
  if (argc > 2) connect();
  for (int at = 0; sums[at].name != NULL; at++) {
    printf("%d %s %ld %ld\n", rank, sums[at].name, sums[at].calls, sums[at].bytes);
  }
  fflush(stdout);
  MPI_Finalize();
}
