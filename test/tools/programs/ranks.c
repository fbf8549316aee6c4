// Ranks that compute and send: the first one prints.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  volatile double work = 0;
  for (double end = MPI_Wtime() + 0.9; MPI_Wtime() < end;) {
    for (int i = 0; i < 20000; i++) work += i;
  }
  for (int round = 0; round < 100; round++) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv_replace(&sum, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  char input[64] = "";
  if (rank == 0 && fgets(input, sizeof input, stdin) != NULL) {
    printf("size %d, sum %d, input %s", size, sum, input);
    fprintf(stderr, "from the first rank\n");
  }
  MPI_Finalize();
}
