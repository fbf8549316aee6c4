// Looks for functions by weak symbols and by dlsym, as programs do that use what their MPI library
// has, and prints what it finds. With -DWITH_MPI, it calls MPI before.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#define NAME(name)                             \
  extern __attribute__((weak)) int name(void); \
  static int (*const of_##name)(void) = name;
#include "probe-names.h"
#undef NAME

#ifdef WITH_MPI
int MPI_Init(int *, char ***);
int MPI_Finalize(void);
#endif

static void print(const char *name, int is_in_data, int is_in_code) {
  int is_looked_up = dlsym(RTLD_DEFAULT, name) != NULL;
  printf("%s %d %d %d %d\n", name, is_in_data, is_in_code, is_looked_up, dlerror() == NULL);
}

int main(int argc, char **argv) {
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
#endif
#define NAME(name) print(#name, of_##name != NULL, name != NULL);
#include "probe-names.h"
#ifdef WITH_MPI
  MPI_Finalize();
#endif
}
