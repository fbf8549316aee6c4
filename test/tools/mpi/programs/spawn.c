// Starts this program twice, one after the other, and makes communicators with members of all jobs:
// two processes start two others, and these four start one.

#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

// Calls a function that waits for all members, so that the communicator is in use.
static void use(MPI_Comm communicator, int calls) {
  for (int at = 0; at < calls; at++) MPI_Barrier(communicator);
}

// A duplicate of a communicator with members of two jobs, and a communicator for each two members.
static void derive(MPI_Comm merged) {
  MPI_Comm copy, pair, again;
  int rank;
  MPI_Comm_rank(merged, &rank);
  MPI_Comm_dup(merged, &copy);
  use(copy, 2);
  MPI_Comm_split(merged, rank % 2, 0, &pair);
  use(pair, 3 + rank % 2);
  MPI_Comm_free(&merged);
  MPI_Comm_dup(pair, &again);
  use(again, 5);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&pair);
  MPI_Comm_free(&again);
}

static MPI_Comm merge(MPI_Comm between, int is_high) {
  MPI_Comm merged;
  MPI_Intercomm_merge(between, is_high, &merged);
  use(merged, 6);
  return merged;
}

int main(int count, char **arguments) {
  MPI_Comm between, all, copy, merged;
  MPI_Init(&count, &arguments);
  MPI_Comm_get_parent(&between);
  int is_second = between != MPI_COMM_NULL && count > 1;
  if (between == MPI_COMM_NULL) {
    MPI_Comm_spawn(arguments[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                   MPI_ERRCODES_IGNORE);
  }
  if (is_second) {
    all = merge(between, 1);
  } else {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    merged = merge(between, parent != MPI_COMM_NULL);
    MPI_Comm_dup(merged, &copy);
    derive(copy);
    char *second[] = {"second", NULL};
    MPI_Comm_spawn(arguments[0], second, 1, MPI_INFO_NULL, 0, merged, &between,
                   MPI_ERRCODES_IGNORE);
    all = merge(between, 0);
  }
  MPI_Comm_dup(all, &copy);
  use(copy, 7);
  int rank;
  MPI_Comm_rank(all, &rank);
  printf("rank %d\n", rank);
  // In Open MPI 4.1, jobs that are still connected may end with SIGPIPE in MPI_Finalize. The
  // recorder writes its file in the first call here, since more than a second has passed, and has
  // another second for it: other processes may end in the meantime.
  for (int at = 0; at < 2; at++) {
    usleep(1100000);
    MPI_Barrier(all);
  }
  MPI_Finalize();
  return 0;
}
