// Calls MPI in the way that the first argument names, and ends with the exit code that the second
// one gives, or 0. mpirun of Open MPI kills the other processes if the code is not 0.
//   calls   many calls. Prints a line for each function: rank, name, calls, seconds. The
//           communicator `half` has the processes in the opposite order
//   late    600 collective calls; the last rank is late for the first half, and rank 0 for the
//           second half
//   steady  1000 calls of MPI_Barrier in at least five seconds
//   loop    MPI_Barrier until the process is killed
//   kill    as loop, but kills itself after eight seconds
//   exit    ends without MPI_Finalize
//   abort   calls MPI_Abort with code 4
//   fork    forks a child that exits, and then makes more calls, or kills itself if there is a
//           second argument
//   threads calls MPI in four threads
//   limit   sets a limit of the size of files, and calls MPI for more than a second
//   many    creates, uses and frees 1000 communicators
//   full    uses 100 communicators, frees them, and uses 100 others
//   inter   rank 0 of three creates intercommunicators with one and with two remote processes
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int rank, size;

static struct {
  const char *name;
  long calls;
  double seconds;
} counts[64];

static void count(const char *name, double seconds) {
  int at = 0;
  while (counts[at].name != NULL && strcmp(counts[at].name, name) != 0) at++;
  counts[at].name = name;
  counts[at].calls++;
  counts[at].seconds += seconds;
}

// The clock of the recorder. That of MPI_Wtime may be another one.
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#define TIMED(name, ...)         \
  do {                           \
    double start = now();        \
    MPI_##name(__VA_ARGS__);     \
    count(#name, now() - start); \
  } while (0)

static void exchange(MPI_Comm half) {
  int own, data[8] = {0}, other[8];
  MPI_Request request[2];
  MPI_Status status, statuses[2];
  MPI_Comm_rank(half, &own);
  int next = (own + 1) % size, previous = (own + size - 1) % size;
  if (own == 0) TIMED(Send, data, 7, MPI_INT, 1, 0, half);
  if (own == 1) TIMED(Recv, other, 7, MPI_INT, MPI_ANY_SOURCE, 0, half, &status);
  TIMED(Irecv, other, 2, MPI_INT, previous, 1, half, &request[0]);
  TIMED(Isend, data, 2, MPI_INT, next, 1, half, &request[1]);
  TIMED(Wait, &request[0], MPI_STATUS_IGNORE);
  TIMED(Wait, &request[1], &status);
  TIMED(Irecv, other, 2, MPI_INT, previous, 1, half, &request[0]);
  TIMED(Irecv, other, 2, MPI_INT, previous, 2, half, &request[1]);
  TIMED(Ssend, data, 0, MPI_INT, MPI_PROC_NULL, 0, half);
  TIMED(Send, data, 2, MPI_INT, next, 1, half);
  TIMED(Send, data, 2, MPI_INT, next, 2, half);
  TIMED(Waitall, 2, request, statuses);
  TIMED(Sendrecv, data, 4, MPI_INT, next, 2, other, 4, MPI_INT, previous, 2, half, MPI_STATUS_IGNORE);
}

static void collect(MPI_Comm half) {
  double data[64] = {0}, other[64];
  int one[8] = {1, 1, 1, 1, 1, 1, 1, 1}, offsets[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  MPI_Comm copy;
  MPI_Request request;
  TIMED(Allreduce, data, other, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  TIMED(Barrier, half);
  TIMED(Bcast, data, 5, MPI_DOUBLE, 0, half);
  // These arguments are significant only in some processes, or not at all.
  TIMED(Scatter, data, rank == 0 ? 1 : -1, rank == 0 ? MPI_DOUBLE : MPI_DATATYPE_NULL, other, 1,
        MPI_DOUBLE, 0, MPI_COMM_WORLD);
  TIMED(Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, other, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  TIMED(Gatherv, rank == 0 ? MPI_IN_PLACE : data, 1, rank == 0 ? MPI_DATATYPE_NULL : MPI_INT, other,
        one, offsets, MPI_INT, 0, MPI_COMM_WORLD);
  TIMED(Alltoallv, data, one, offsets, MPI_INT, other, one, offsets, MPI_INT, MPI_COMM_WORLD);
  TIMED(Reduce, data, other, 1, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
  TIMED(Iallreduce, data, other, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  TIMED(Wait, &request, MPI_STATUS_IGNORE);
  TIMED(Comm_dup, half, &copy);
  TIMED(Comm_free, &copy);
}

static void call_all(void) {
  MPI_Comm half;
  TIMED(Comm_split, MPI_COMM_WORLD, 0, size - rank, &half);
  for (int round = 0; round < 20; round++) {
    usleep((useconds_t)rank * 2000);
    exchange(half);
    collect(half);
  }
  for (int at = 0; counts[at].name != NULL; at++) {
    printf("%d %s %ld %.9f\n", rank, counts[at].name, counts[at].calls, counts[at].seconds);
  }
  fflush(stdout);
}

static void be_late(void) {
  int data = 0, sum;
  for (int round = 0; round < 600; round++) {
    if (rank == (round < 300 ? size - 1 : 0)) usleep(2000);
    MPI_Allreduce(&data, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void be_steady(void) {
  for (int round = 0; round < 1000; round++) {
    usleep(5000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void loop(int kills) {
  double began = MPI_Wtime();
  for (;;) {
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(1000);
    if (kills && MPI_Wtime() - began > 8) kill(getpid(), SIGKILL);
  }
}

static void *call_in_thread(void *unused) {
  int data = 0, other;
  for (int round = 0; round < 500; round++) {
    MPI_Sendrecv(&data, 1, MPI_INT, 0, 0, &other, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
  }
  return unused;
}

static void call_in_threads(void) {
  pthread_t threads[4];
  for (int at = 0; at < 4; at++) pthread_create(&threads[at], NULL, call_in_thread, NULL);
  for (int at = 0; at < 4; at++) pthread_join(threads[at], NULL);
}

static void create_many(void) {
  for (int round = 0; round < 1000; round++) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
  }
}

static void use_copies(MPI_Comm *copies, int count, int rounds) {
  int data = 0, sum;
  for (int at = 0; at < count; at++) MPI_Comm_dup(MPI_COMM_WORLD, &copies[at]);
  for (int round = 0; round < rounds; round++) {
    for (int at = 0; at < count; at++) MPI_Allreduce(&data, &sum, 1, MPI_INT, MPI_SUM, copies[at]);
  }
}

// The recorder has room for 64 communicators: MPI_COMM_WORLD, MPI_COMM_SELF, a copy of that, and 61
// of these. While the copy of MPI_COMM_SELF is freed, its place may be used by such a copy only.
static void fill(void) {
  MPI_Comm self, copies[100];
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  MPI_Comm_free(&self);
  use_copies(copies, 100, 5);
  for (int at = 0; at < 100; at++) MPI_Comm_free(&copies[at]);
  use_copies(copies, 61, 7);
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  use_copies(copies, 39, 3);
}

// The second intercommunicator has the local group of the first, which is freed, and more remote
// processes. The communicator that is created between them has all processes in the opposite order.
static void create_inter(void) {
  int data = 0;
  MPI_Comm locals, one, opposite, two;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, -rank, &locals);
  if (rank < 2) {
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 1, &one);
    if (rank == 0) MPI_Send(&data, 1, MPI_INT, 0, 0, one);
    else MPI_Recv(&data, 1, MPI_INT, 0, 0, one, MPI_STATUS_IGNORE);
    MPI_Comm_free(&one);
  }
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &opposite);
  MPI_Intercomm_create(locals, 0, MPI_COMM_WORLD, rank == 0 ? 2 : 0, 2, &two);
  if (rank == 0) MPI_Send(&data, 1, MPI_INT, 1, 0, two);
  if (rank == 1) MPI_Recv(&data, 1, MPI_INT, 0, 0, two, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Send(&data, 1, MPI_INT, 0, 0, opposite);
  if (rank == 2) MPI_Recv(&data, 1, MPI_INT, 2, 0, opposite, MPI_STATUS_IGNORE);
}

static void call_with_limit(void) {
  struct rlimit limit = {1, 1};
  setrlimit(RLIMIT_FSIZE, &limit);
  for (int round = 0; round < 12; round++) {
    usleep(100000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void call_around_fork(int kills) {
  for (int round = 0; round < 5; round++) MPI_Barrier(MPI_COMM_WORLD);
  int child = fork();
  if (child == 0) exit(0);
  waitpid(child, NULL, 0);
  if (kills) kill(getpid(), SIGKILL);
  for (int round = 0; round < 5; round++) MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  int provided;
  if (strcmp(mode, "threads") == 0) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(mode, "calls") == 0) call_all();
  if (strcmp(mode, "late") == 0) be_late();
  if (strcmp(mode, "steady") == 0) be_steady();
  if (strcmp(mode, "loop") == 0) loop(0);
  if (strcmp(mode, "kill") == 0) loop(1);
  if (strcmp(mode, "threads") == 0) call_in_threads();
  if (strcmp(mode, "many") == 0) create_many();
  if (strcmp(mode, "full") == 0) fill();
  if (strcmp(mode, "inter") == 0) create_inter();
  if (strcmp(mode, "limit") == 0) call_with_limit();
  if (strcmp(mode, "fork") == 0) call_around_fork(argc > 2);
  if (strcmp(mode, "calls") != 0) MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(mode, "exit") == 0) exit(9);
  if (strcmp(mode, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 4);
  MPI_Finalize();
  return argc > 2 ? atoi(argv[2]) : 0;
}
