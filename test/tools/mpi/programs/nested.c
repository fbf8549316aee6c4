// A library that observes MPI, as an application may link one: counts MPI_Barrier.
#include <mpi.h>
#include <stdio.h>

static int barriers;

int MPI_Barrier(MPI_Comm communicator) {
  barriers++;
  return PMPI_Barrier(communicator);
}

int MPI_Finalize(void) {
  printf("nested %d\n", barriers);
  fflush(stdout);
  return PMPI_Finalize();
}
