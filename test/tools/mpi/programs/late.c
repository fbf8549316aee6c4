// Loads a library that needs MPI with RTLD_LOCAL, as mpi4py does, and calls its function `work`.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return puts(dlerror()), 2;
  int (*work)(int, char **) = (int (*)(int, char **))dlsym(library, "work");
  return work(argc - 1, argv + 1);
}
