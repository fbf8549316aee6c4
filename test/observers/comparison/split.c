// Divides a fixed amount of work between two processes of MPI, which wait for each other after each
// step.
//   split STEPS PERCENT [hang|crash]
// PERCENT of the work of each step is that of rank 0. After half of the steps, rank 1 sleeps for
// ever (hang), or writes to an invalid address (crash).
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// About 20 ms on a processor of 2020 for the work of both ranks.
#define WORK 20000000L

int main(int argc, char **argv) {
  int rank;
  if (argc < 3) return 2;
  const char *stop = argc > 3 ? argv[3] : "";
  long steps = atol(argv[1]), percent = atol(argv[2]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  long own = WORK / 100 * (rank == 0 ? percent : 100 - percent);
  double sum = 1, all = 0;
  for (long step = 0; step < steps; step++) {
    int stops = rank == 1 && step == steps / 2;
    while (stops && strcmp(stop, "hang") == 0) pause();
    if (stops && strcmp(stop, "crash") == 0) *(volatile int *)NULL = 1;
    for (long at = 0; at < own; at++) sum = sum * 0.999999 + 1e-6;
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return all > 0 ? 0 : 1;
}
