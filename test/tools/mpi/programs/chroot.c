// Calls MPI_Barrier 300 or 900 times, for at least 1.5 or 4.5 seconds. After MPI_Init, the program
// does what the first argument names:
//   root   changes its root directory to the second argument
//   close  closes all files above standard error, and opens its own file, the second argument,
//          under all numbers that the recorder could use
//   range, from  closes all files above standard error by close_range or closefrom
//   over   opens its own file, the second argument, over the numbers that the recorder uses
//   exec   executes a program that exits with the code 5
//   protect  hides its files in /proc from its own user
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void change_files(const char *mode, const char *path) {
  if (strcmp(mode, "range") == 0) close_range(3, ~0u, 0);
  if (strcmp(mode, "from") == 0) closefrom(3);
  if (strcmp(mode, "protect") == 0) prctl(PR_SET_DUMPABLE, 0);
  if (strcmp(mode, "over") != 0) return;
  int own = open(path, O_WRONLY | O_CREAT, 0644);
  for (int file = 700; file < 720; file++) dup2(own, file);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (strcmp(argv[1], "root") == 0 && chroot(argv[2]) != 0) return 2;
  if (strcmp(argv[1], "close") == 0) {
    for (int file = 3; file < 1000; file++) close(file);
    int own = open(argv[2], O_WRONLY | O_CREAT, 0644);
    for (int file = own + 1; file < 1000; file++) dup2(own, file);
  }
  change_files(argv[1], argv[2]);
  int is_short = strcmp(argv[1], "root") == 0 || strcmp(argv[1], "close") == 0;
  for (int round = 0; round < (is_short ? 300 : 900); round++) {
    if (round == 850 && strcmp(argv[1], "exec") == 0) execl("/bin/sh", "sh", "-c", "exit 5", NULL);
    usleep(5000);
    MPI_Barrier(MPI_COMM_SELF);
  }
  // The MPI library may need its files at the end.
  if (strcmp(argv[1], "root") != 0) _exit(0);
  MPI_Finalize();
}
