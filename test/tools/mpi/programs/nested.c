// A library that observes MPI, as an application may link one: counts MPI_Barrier, and sleeps in it.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int barriers;

int MPI_Barrier(MPI_Comm communicator) {
  barriers++;
  usleep(1000);
  return PMPI_Barrier(communicator);
}

int MPI_Finalize(void) {
  printf("nested %d\n", barriers);
  fflush(stdout);
  return PMPI_Finalize();
}
