// Calls MPI_Barrier 300 times, for more than a second. After MPI_Init, the program does what the
// first argument names:
//   root   changes its root directory to the second argument
//   close  closes all files above standard error, and opens its own file, the second argument,
//          under all numbers that the recorder could use
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (strcmp(argv[1], "root") == 0 && chroot(argv[2]) != 0) return 2;
  if (strcmp(argv[1], "close") == 0) {
    for (int file = 3; file < 1000; file++) close(file);
    int own = open(argv[2], O_WRONLY | O_CREAT, 0644);
    for (int file = own + 1; file < 1000; file++) dup2(own, file);
  }
  for (int round = 0; round < 300; round++) {
    usleep(5000);
    MPI_Barrier(MPI_COMM_SELF);
  }
  // The MPI library may need its files at the end.
  if (strcmp(argv[1], "close") == 0) _exit(0);
  MPI_Finalize();
}
