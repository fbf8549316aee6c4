// Computes, sleeps in MPI and waits for the other processes, again and again, and measures itself.
//   shares KIND STEPS SLEEPING PROCESSORS COMPUTING...
// KIND is the call in which a process waits: barrier, or exchange, with its neighbors in a ring.
// The library sleeps.c sleeps for SLEEPING microseconds in each of these calls. PROCESSORS has a
// number for each process: that of the processor on which it runs, such as 0011. COMPUTING is the
// CPU time in a step in microseconds, for each process; the last one is that of all others too.
// Each process prints a line, with times in seconds:
//   elapsed    since MPI_Init
//   useful     the CPU time outside of MPI
//   steps      the time that the steps would have taken with a processor for each process: for each
//              step, the greatest sum of the useful time of a process and its time asleep in MPI
//   ending     the time after the steps until the end of MPI_Finalize, without waiting for a
//              processor
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// How long the calls sleep, for how long they have slept, and how long this thread has lived
// without waiting for a processor.
extern double asked, slept;
double undelayed(void);

static double read_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void run_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

static void compute(double seconds) {
  double start = read_clock(CLOCK_THREAD_CPUTIME_ID);
  while (read_clock(CLOCK_THREAD_CPUTIME_ID) - start < seconds) {
  }
}

static void wait_for_others(const char *kind, int rank, int size) {
  if (strcmp(kind, "barrier") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  int sent = rank, received;
  MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % size, 0, &received, 1, MPI_INT,
               (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  int rank, size;
  if (argc < 6) return 2;
  MPI_Init(&argc, &argv);
  double began = read_clock(CLOCK_MONOTONIC);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int steps = atoi(argv[2]), place = 5 + rank < argc ? 5 + rank : argc - 1;
  double computing = atof(argv[place]) * 1e-6, useful = 0, sum = 0;
  double *own = calloc(steps, sizeof *own), *greatest = calloc(steps, sizeof *greatest);
  asked = atof(argv[3]) * 1e-6;
  run_on(argv[4][rank] - '0');
  double left = read_clock(CLOCK_THREAD_CPUTIME_ID);
  for (int step = 0; step < steps; step++) {
    compute(computing);
    double entered = read_clock(CLOCK_THREAD_CPUTIME_ID), before = slept;
    wait_for_others(argv[1], rank, size);
    useful += entered - left;
    own[step] = entered - left + slept - before;
    left = read_clock(CLOCK_THREAD_CPUTIME_ID);
  }
  double ended = undelayed();
  MPI_Allreduce(own, greatest, steps, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  for (int step = 0; step < steps; step++) sum += greatest[step];
  MPI_Finalize();
  printf("{\"elapsed\": %f, \"useful\": %f, \"steps\": %f, \"ending\": %f}\n",
         read_clock(CLOCK_MONOTONIC) - began, useful, sum, undelayed() - ended);
  fflush(stdout);
  return 0;
}
