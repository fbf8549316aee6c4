// A library that observes MPI, as one is preloaded: counts the calls of MPI_Barrier and MPI_Send,
// and finds the functions of MPI by PMPI_* or, with -DNEXT, by dlsym.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int calls;

#ifdef NEXT
#define CALL(name, type) ((type)dlsym(RTLD_NEXT, "MPI_" #name))
#else
#define CALL(name, type) PMPI_##name
#endif

int MPI_Init(int *argc, char ***argv) { return CALL(Init, int (*)(int *, char ***))(argc, argv); }

int MPI_Barrier(MPI_Comm communicator) {
  calls++;
  return CALL(Barrier, int (*)(MPI_Comm))(communicator);
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator) {
  calls++;
  return CALL(Send, int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm))(
      data, count, type, to, tag, communicator);
}

int MPI_Finalize(void) {
  printf("tool %d\n", calls);
  fflush(stdout);
  return CALL(Finalize, int (*)(void))();
}
