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
//   finalize all but the last process call MPI_Finalize; the last one sleeps
//   storage  the last process reads the file that the variable STUCK_FILE names
//   threads  as sleep, but the others have threads that receive from any process
//   server   as threads, but the last process has such a thread, too
//   sub      the processes with an even number call MPI_Barrier on a communicator of their own, but
//            for the last of them, which sleeps; the others call MPI_Barrier on MPI_COMM_WORLD
// In these jobs, the last process does the same before MPI_Init, in which the others wait:
//   init-sleep, init-spin, init-stop, init-kill
// These jobs are slow, but move. Each of them ends after about `second argument` seconds:
//   uneven   the last process sleeps for 1.5 s before each MPI_Barrier
//   compute  all processes compute for 3 s between calls of MPI_Allreduce
//   ring     a message goes around, and each process sleeps for 0.7 s before it passes it on
//   master   process 0 receives from any process; the others compute for 4 s for each message
//   root     process 0 writes for 5 s between calls of MPI_Bcast
//   large    processes 0 and 1 send each other a large message
//   disk     the last process writes to a disk for 13 s before each MPI_Barrier
//   alone    process 0 computes for 13 s before each MPI_Barrier
//   threads  each process has two threads that call MPI_Allreduce, each in a communicator
//   test     all processes poll with MPI_Test for a reduction, before which the last sleeps for 2 s
//   startup  the last process sleeps for a minute before its first collective call
//   init     the last process sleeps for a minute before MPI_Init
//   resume   once, the last process sleeps for 16 s before MPI_Barrier
//   poll     process 0 polls with MPI_Iprobe for a message that comes every 2.5 s
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
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

static void write_to_disk(double seconds) {
  char name[64], block[4096] = {1};
  snprintf(name, sizeof name, "/var/tmp/ridealong-stuck-%d", (int)getpid());
  int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  unlink(name);
  for (double end = now() + seconds; now() < end; usleep(2000)) {
    if (write(file, block, sizeof block) != sizeof block || fsync(file) != 0) abort();
    // The kernel counts processor time in steps. A slow disk leaves too few of them.
    compute(0.001);
  }
  close(file);
}

static void *receive(void *communicator) {
  char byte;
  MPI_Recv(&byte, 1, MPI_CHAR, MPI_ANY_SOURCE, 7, *(MPI_Comm *)communicator, MPI_STATUS_IGNORE);
  return NULL;
}

static double until;

// Makes collective calls until process 0 says that the time is over.
static void *reduce(void *communicator) {
  for (int goes_on = 1; goes_on; usleep(1000)) {
    goes_on = now() < until;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, *(MPI_Comm *)communicator);
  }
  return NULL;
}

static void start_thread(void *(*body)(void *)) {
  static MPI_Comm communicator;
  static pthread_t thread;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  pthread_create(&thread, NULL, body, &communicator);
}

static void wait_for_all(void) {
  int one = 1, sum;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void stop_in(const char *mode) {
  static char buffer[1 << 20];
  int is_last = rank == size - 1;
  if (strcmp(mode, "threads") == 0 || strcmp(mode, "server") == 0) {
    // All members create the communicator.
    if (!is_last || strcmp(mode, "server") == 0) start_thread(receive);
    else MPI_Comm_dup(MPI_COMM_WORLD, &(MPI_Comm){0});
    if (is_last) wait_for_ever();
  }
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
  if (is_last && strcmp(mode, "finalize") == 0) wait_for_ever();
  if (strcmp(mode, "finalize") == 0) return;
  if (is_last && strcmp(mode, "storage") == 0) {
    char byte;
    read(open(getenv("STUCK_FILE"), O_RDONLY), &byte, 1);
  }
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
  until = end;
  if (strcmp(mode, "threads") == 0) start_thread(reduce);
  // Process 0 decides when all of them end.
  for (int goes_on = 1; goes_on;) {
    if (strcmp(mode, "uneven") == 0) {
      if (rank == size - 1) usleep(1500000);
      MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(mode, "resume") == 0) {
      static int has_slept;
      if (rank == size - 1 && !has_slept++) sleep(16);
      MPI_Barrier(MPI_COMM_WORLD);
      usleep(1000);
    } else if (strcmp(mode, "large") == 0) {
      static char large[128 << 20];
      if (rank == 0) MPI_Send(large, sizeof large, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
      if (rank == 1) MPI_Recv(large, sizeof large, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &status);
      if (rank == 1) MPI_Send(large, sizeof large, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
      if (rank == 0) MPI_Recv(large, sizeof large, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &status);
    } else if (strcmp(mode, "disk") == 0) {
      if (rank == size - 1) write_to_disk(13);
      MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(mode, "alone") == 0) {
      if (rank == 0) compute(13);
      MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(mode, "threads") == 0) {
      wait_for_all();
      usleep(1000);
    } else if (strcmp(mode, "test") == 0) {
      int sum;
      MPI_Request request;
      if (rank == size - 1) sleep(2);
      MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      for (has_message = 0; !has_message;) MPI_Test(&request, &has_message, &status);
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

// Whether the launcher has started no process with a greater rank.
static int is_last_of_job(void) {
  const char *own = getenv("OMPI_COMM_WORLD_RANK"), *all = getenv("OMPI_COMM_WORLD_SIZE");
  if (own == NULL) own = getenv("PMI_RANK"), all = getenv("PMI_SIZE");
  return own != NULL && all != NULL && atoi(own) == atoi(all) - 1;
}

static void stop_before_init(const char *mode) {
  if (!is_last_of_job()) return;
  if (strcmp(mode, "init") == 0) sleep(60);
  if (strcmp(mode, "init-sleep") == 0) wait_for_ever();
  if (strcmp(mode, "init-spin") == 0) compute(1e9);
  if (strcmp(mode, "init-stop") == 0) raise(SIGSTOP);
  // The observer sees it before.
  if (strcmp(mode, "init-kill") == 0) sleep(4);
  if (strcmp(mode, "init-kill") == 0) raise(SIGKILL);
}

int main(int argc, char **argv) {
  stop_before_init(argv[1]);
  int provided, has_threads = strcmp(argv[1], "threads") == 0 || strcmp(argv[1], "server") == 0;
  if (has_threads) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(argv[1], "startup") == 0 && rank == size - 1) sleep(60);
  for (int round = 0; round < 5; round++) MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 2) move_in(argv[1], atof(argv[2]));
  else stop_in(argv[1]);
  MPI_Finalize();
}
