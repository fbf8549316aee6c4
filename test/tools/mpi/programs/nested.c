// A library that observes MPI, as an application may link one: counts MPI_Barrier, and sleeps in
// it. Counts the calls of the recorder to PMPI_Comm_size too.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int barriers, sizes;

int MPI_Barrier(MPI_Comm communicator) {
  barriers++;
  usleep(1000);
  return PMPI_Barrier(communicator);
}

int PMPI_Comm_size(MPI_Comm communicator, int *size) {
  int (*next)(MPI_Comm, int *) = (int (*)(MPI_Comm, int *))dlsym(RTLD_NEXT, "PMPI_Comm_size");
  sizes++;
  return next(communicator, size);
}

int MPI_Finalize(void) {
  printf("nested %d sizes %d\n", barriers, sizes);
  fflush(stdout);
  return PMPI_Finalize();
}
