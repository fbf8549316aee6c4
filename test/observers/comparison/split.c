// Divides a fixed amount of work between two processes of MPI, which wait for each other after each
// step.
//   split STEPS PERCENT   PERCENT of the work of each step is that of rank 0
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// About 20 ms on a processor of 2020 for the work of both ranks.
#define WORK 20000000L

int main(int argc, char **argv) {
  int rank;
  if (argc != 3) return 2;
  long steps = atol(argv[1]), percent = atol(argv[2]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  long own = WORK / 100 * (rank == 0 ? percent : 100 - percent);
  double sum = 1, all = 0;
  for (long step = 0; step < steps; step++) {
    for (long at = 0; at < own; at++) sum = sum * 0.999999 + 1e-6;
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return all > 0 ? 0 : 1;
}
