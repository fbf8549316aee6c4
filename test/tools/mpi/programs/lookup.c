// Finds MPI with dlopen and dlsym, as Julia does, and calls MPI_Allreduce 100 times. The argument
// is the path of Open MPI.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *mpi = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
  if (mpi == NULL) return puts(dlerror()), 2;
  int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(mpi, "MPI_Init");
  int (*finalize)(void) = (int (*)(void))dlsym(mpi, "MPI_Finalize");
  int (*allreduce)(const void *, void *, int, void *, void *, void *) =
      (int (*)(const void *, void *, int, void *, void *, void *))dlsym(mpi, "MPI_Allreduce");
  void *world = dlsym(mpi, "ompi_mpi_comm_world"), *type = dlsym(mpi, "ompi_mpi_int");
  void *sum = dlsym(mpi, "ompi_mpi_op_sum");
  int one = 1, all = 0;
  init(&argc, &argv);
  for (int call = 0; call < 100; call++) allreduce(&one, &all, 1, type, sum, world);
  printf("%d\n", all);
  fflush(stdout);
  return finalize();
}
