// Calls MPI_Barrier five times, and then does what the first argument names. The jobs of the first
// list make no progress:
//   sleep    all but the last process call MPI_Allreduce; the last one sleeps
//   spin     the last process computes instead
//   stop     the last process stops itself with SIGSTOP
//   kill     the last process kills itself with SIGKILL
//   other    the last process calls MPI_Barrier instead
//   early    the last process calls MPI_Finalize instead
//   missing  process 1 receives a message that process 0, which is in MPI_Barrier, does not send
//   sends    processes 0 and 1 send each other a message that must be received to be sent
//   sub      the processes with an even number call MPI_Barrier on a communicator of their own, but
//            for the last of them, which sleeps; the others call MPI_Barrier on MPI_COMM_WORLD
// These jobs are slow, but move. Each of them ends after about `second argument` seconds:
//   uneven   the last process sleeps for 1.5 s before each MPI_Barrier
//   compute  all processes compute for 3 s between calls of MPI_Allreduce
//   ring     a message goes around, and each process sleeps for 0.7 s before it passes it on
//   master   process 0 receives from any process; the others compute for 4 s for each message
//   root     process 0 writes for 5 s between calls of MPI_Bcast
//   poll     process 0 polls with MPI_Iprobe for a message that comes every 2.5 s
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void compute(double seconds) {
  for (double end = now() + seconds; now() < end;) {
  }
}

static void wait_for_ever(void) {
  for (;;) pause();
}

static void wait_for_all(void) {
  int one = 1, sum;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void stop_in(const char *mode) {
  static char buffer[1 << 20];
  int is_last = rank == size - 1;
  if (strcmp(mode, "missing") == 0 && rank == 1) {
    MPI_Recv(buffer, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(mode, "missing") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(mode, "sends") == 0 && rank < 2) {
    MPI_Ssend(buffer, 1, MPI_CHAR, 1 - rank, 3, MPI_COMM_WORLD);
  } else if (strcmp(mode, "sub") == 0) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Barrier(half);
    if (rank % 2 == 0 && rank + 2 >= size) wait_for_ever();
    MPI_Barrier(rank % 2 == 0 ? half : MPI_COMM_WORLD);
  }
  if (is_last && strcmp(mode, "sleep") == 0) wait_for_ever();
  if (is_last && strcmp(mode, "spin") == 0) compute(1e9);
  if (is_last && strcmp(mode, "stop") == 0) raise(SIGSTOP);
  if (is_last && strcmp(mode, "kill") == 0) raise(SIGKILL);
  if (is_last && strcmp(mode, "other") == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (is_last && strcmp(mode, "early") == 0) return;
  wait_for_all();
}

static void move_in(const char *mode, double seconds) {
  int value = 0, has_message = 0, next = (rank + 1) % size, before = (rank + size - 1) % size;
  double end = now() + seconds;
  MPI_Status status;
  // Process 0 decides when all of them end.
  for (int goes_on = 1; goes_on;) {
    if (strcmp(mode, "uneven") == 0) {
      if (rank == size - 1) usleep(1500000);
      MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(mode, "compute") == 0) {
      compute(3);
      wait_for_all();
    } else if (strcmp(mode, "ring") == 0) {
      if (rank != 0) MPI_Recv(&value, 1, MPI_INT, before, 3, MPI_COMM_WORLD, &status);
      usleep(700000);
      MPI_Send(&value, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
      if (rank == 0) MPI_Recv(&value, 1, MPI_INT, before, 3, MPI_COMM_WORLD, &status);
    } else if (strcmp(mode, "master") == 0) {
      if (rank != 0) compute(4);
      if (rank != 0) MPI_Send(&rank, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
      for (int at = 1; rank == 0 && at < size; at++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
    } else if (strcmp(mode, "root") == 0) {
      if (rank == 0) sleep(5);
    } else if (strcmp(mode, "poll") == 0) {
      if (rank == 1) usleep(2500000);
      if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
      for (has_message = 0; rank == 0 && !has_message;)
        MPI_Iprobe(1, 3, MPI_COMM_WORLD, &has_message, &status);
      if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &status);
    }
    goes_on = now() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 5; round++) MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 2) move_in(argv[1], atof(argv[2]));
  else stop_in(argv[1]);
  MPI_Finalize();
}
