// Makes a call of MPI that the processes do not agree about, after which the job makes no progress.
// The first argument names the call. With a second argument, the processes agree, and the job ends.
// The last process comes to the call after a second.
//
// Calls with a root: rank 1 is the root of the last process, and rank 0 that of the others.
//   bcast, gather, gatherv, scatter, scatterv, reduce
//   reordered  MPI_Reduce on a communicator with the processes in the opposite order
//   ireduce    MPI_Ireduce and MPI_Wait
//   left       MPI_Reduce; a process that is no root leaves it, and calls MPI_Barrier
// Calls with an amount of data: the last process sends none, for which the others wait.
//   count-alltoallv
//   count-gatherv  the others leave it, and call MPI_Finalize
// Calls on windows, from which others do not come back:
//   fence-barrier   all but the last process call MPI_Win_fence, the last one MPI_Barrier
//   fence-finalize  the last one calls MPI_Finalize
//   fence-free      the last one calls MPI_Win_free
//   fence-window    the last one calls MPI_Win_fence for another window
//   fence-receive   the last one receives a message from process 0
//   wait-barrier    process 0 calls MPI_Win_wait, the last one does not call MPI_Win_complete
//   wait-finalize   the same, and the others call MPI_Finalize
//   start-barrier   process 0 calls MPI_Win_start, and the last one does not call MPI_Win_post
//   lock-barrier    the last process keeps a lock, and process 0 wants it
//   lock-two        process 0 and the last one want two locks in the opposite order
// Others:
//   stop  the last process is stopped while it is in MPI_Allreduce
//   tags  process 0 sends a message to the last one, which receives one with another tag
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { COUNT = 1 << 18, MAX_SIZE = 8 };

static int rank, size, last, is_last, is_right;
static double one[COUNT * MAX_SIZE], all[COUNT * MAX_SIZE];
static int counts[MAX_SIZE], places[MAX_SIZE];

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

// Whether the processes do something else than with a second argument.
static int is_wrong(int who) { return !is_right && who; }

static int with_root(const char *mode) {
  MPI_Comm world = MPI_COMM_WORLD, reordered;
  MPI_Request request;
  int root = is_wrong(is_last) ? 1 : 0;
  for (int at = 0; at < size; at++) counts[at] = COUNT, places[at] = at * COUNT;
  if (strcmp(mode, "bcast") == 0) MPI_Bcast(one, COUNT, MPI_DOUBLE, root, world);
  else if (strcmp(mode, "gather") == 0)
    MPI_Gather(one, COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, root, world);
  else if (strcmp(mode, "gatherv") == 0)
    MPI_Gatherv(one, COUNT, MPI_DOUBLE, all, counts, places, MPI_DOUBLE, root, world);
  else if (strcmp(mode, "scatter") == 0)
    MPI_Scatter(all, COUNT, MPI_DOUBLE, one, COUNT, MPI_DOUBLE, root, world);
  else if (strcmp(mode, "scatterv") == 0)
    MPI_Scatterv(all, counts, places, MPI_DOUBLE, one, COUNT, MPI_DOUBLE, root, world);
  else if (strcmp(mode, "reduce") == 0)
    MPI_Reduce(one, all, COUNT, MPI_DOUBLE, MPI_SUM, root, world);
  else if (strcmp(mode, "left") == 0) {
    MPI_Reduce(one, all, 1, MPI_DOUBLE, MPI_SUM, root, world);
    barrier();
  } else if (strcmp(mode, "ireduce") == 0) {
    MPI_Ireduce(one, all, COUNT, MPI_DOUBLE, MPI_SUM, root, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (strcmp(mode, "reordered") == 0) {
    MPI_Comm_split(world, 0, -rank, &reordered);
    MPI_Reduce(one, all, COUNT, MPI_DOUBLE, MPI_SUM, root, reordered);
  } else return 0;
  return 1;
}

static int with_count(const char *mode) {
  int zeros[MAX_SIZE] = {0};
  for (int at = 0; at < size; at++) counts[at] = 1, places[at] = at;
  int *sent = is_wrong(is_last) ? zeros : counts;
  if (strcmp(mode, "count-alltoallv") == 0)
    MPI_Alltoallv(one, sent, places, MPI_DOUBLE, all, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
  else if (strcmp(mode, "count-gatherv") == 0)
    MPI_Gatherv(one, *sent, MPI_DOUBLE, all, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  else return 0;
  return 1;
}

static MPI_Group group_of(int member) {
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &member, &group);
  return group;
}

static void lock(MPI_Win window) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
  MPI_Put(one, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, window);
  MPI_Win_flush(1, window);
}

static int with_window(const char *mode) {
  MPI_Win window, other;
  if (strncmp(mode, "fence-", 6) != 0 && strncmp(mode, "wait-", 5) != 0 &&
      strncmp(mode, "start-", 6) != 0 && strncmp(mode, "lock-", 5) != 0)
    return 0;
  MPI_Win_create(one, sizeof one, sizeof *one, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_create(all, sizeof all, sizeof *all, MPI_INFO_NULL, MPI_COMM_WORLD, &other);
  if (strncmp(mode, "fence-", 6) == 0) {
    MPI_Win_fence(0, window);
    MPI_Put(all, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, window);
    if (is_wrong(is_last)) {
      if (strcmp(mode, "fence-barrier") == 0) barrier();
      if (strcmp(mode, "fence-finalize") == 0) return 1;
      if (strcmp(mode, "fence-free") == 0) MPI_Win_free(&window);
      if (strcmp(mode, "fence-window") == 0) MPI_Win_fence(0, other);
      if (strcmp(mode, "fence-receive") == 0)
        MPI_Recv(all, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Win_fence(0, window);
  } else if (strncmp(mode, "wait-", 5) == 0) {
    if (rank == 0) MPI_Win_post(group_of(last), 0, window), MPI_Win_wait(window);
    if (is_last) MPI_Win_start(group_of(0), 0, window);
    if (is_last) MPI_Put(all, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
    if (is_last && is_right) MPI_Win_complete(window);
    if (!is_right && strcmp(mode, "wait-finalize") == 0) return 1;
    barrier();
  } else if (strncmp(mode, "start-", 6) == 0) {
    if (is_last && is_right) MPI_Win_post(group_of(0), 0, window), MPI_Win_wait(window);
    if (rank == 0) {
      MPI_Win_start(group_of(last), 0, window);
      MPI_Put(all, 1, MPI_DOUBLE, last, 0, 1, MPI_DOUBLE, window);
      MPI_Win_complete(window);
    }
    barrier();
  } else if (strcmp(mode, "lock-barrier") == 0) {
    if (is_last) lock(window);
    if (is_last && is_right) MPI_Win_unlock(1, window);
    if (rank == 0) sleep(1), lock(window), MPI_Win_unlock(1, window);
    barrier();
    if (is_wrong(is_last)) MPI_Win_unlock(1, window);
  } else {
    MPI_Win first = is_wrong(is_last) ? other : window, second = is_wrong(is_last) ? window : other;
    if (rank == 0 || is_last) {
      lock(first);
      if (!is_right) sleep(2);
      lock(second);
      MPI_Win_unlock(1, second), MPI_Win_unlock(1, first);
    }
    barrier();
  }
  MPI_Win_free(&other);
  MPI_Win_free(&window);
  return 1;
}

static void stop(int signal) { (void)signal, raise(SIGSTOP); }

static void with_others(const char *mode) {
  char byte = 0;
  if (strcmp(mode, "stop") == 0) {
    struct itimerval time = {.it_value = {.tv_sec = 1}};
    signal(SIGALRM, stop);
    if (is_wrong(is_last)) setitimer(ITIMER_REAL, &time, NULL);
    if (!is_last) sleep(3);
    MPI_Allreduce(one, all, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(mode, "tags") == 0) {
    if (rank == 0) MPI_Ssend(&byte, 1, MPI_CHAR, last, 3, MPI_COMM_WORLD);
    if (is_last)
      MPI_Recv(&byte, 1, MPI_CHAR, 0, is_right ? 3 : 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    barrier();
  } else {
    fprintf(stderr, "no such call: %s\n", mode);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  last = size - 1, is_last = rank == last, is_right = argc > 2;
  barrier();
  if (is_last) sleep(1);
  if (!with_root(argv[1]) && !with_count(argv[1]) && !with_window(argv[1])) with_others(argv[1]);
  // Such a job ends without MPI_Win_free.
  MPI_Finalize();
}
