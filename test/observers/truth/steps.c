// A program of MPI that repeats a step for SECONDS: all processes work for about 20 ms and call
// MPI_Allreduce. Its kind says what else happens:
//   steps KIND SECONDS [FILE]
//   even    nothing
//   hang    at half time, the last process waits for ever, and the others wait for it
//   crash   at half time, the last process accesses invalid memory
//   start   the last process does so before MPI_Init
//   sleep   all processes compute for a tenth of their work, and sleep for the rest
//   read    all processes read FILE past the page cache instead of computing
// Each process that reaches its end prints its times in seconds: since MPI_Init, CPU time since
// then, outside of MPI, CPU time outside of MPI, asleep, and reading.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP 0.02
#define BLOCK 4096

static double read_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double now(void) { return read_clock(CLOCK_MONOTONIC); }

static double cpu(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

static double asleep, reading;

static void compute(double seconds) {
  for (double end = cpu() + seconds; cpu() < end;) {
  }
}

static void wait_a_while(double seconds) {
  double began = now();
  usleep((useconds_t)(seconds * 1e6));
  asleep += now() - began;
}

static void read_blocks(int file, double seconds) {
  static char *block;
  static off_t blocks;
  if (block == NULL && posix_memalign((void **)&block, BLOCK, BLOCK) != 0) abort();
  if (blocks == 0) blocks = lseek(file, 0, SEEK_END) / BLOCK;
  double began = now();
  while (now() < began + seconds)
    if (pread(file, block, BLOCK, (off_t)(random() % blocks) * BLOCK) != BLOCK) abort();
  reading += now() - began;
}

static int is_last_of_job(void) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *size = getenv("OMPI_COMM_WORLD_SIZE");
  if (rank == NULL) rank = getenv("PMI_RANK"), size = getenv("PMI_SIZE");
  return rank != NULL && size != NULL && atoi(rank) == atoi(size) - 1;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const char *kind = argv[1];
  double seconds = atof(argv[2]);
  int file = argc > 3 ? open(argv[3], O_RDONLY | O_DIRECT) : -1, rank, size, goes_on = 1;
  if (strcmp(kind, "start") == 0) compute(1.5);
  if (strcmp(kind, "start") == 0 && is_last_of_job()) raise(SIGSEGV);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double began = now(), before = cpu(), outside = 0, used = 0;
  srandom((unsigned)rank);
  while (goes_on) {
    double entered = now(), spent = cpu();
    if (strcmp(kind, "sleep") == 0) {
      compute(0.1 * STEP);
      wait_a_while(0.9 * STEP);
    } else if (strcmp(kind, "read") == 0) {
      read_blocks(file, STEP);
    } else {
      compute(STEP);
    }
    if (rank == size - 1 && now() - began > seconds / 2) {
      if (strcmp(kind, "hang") == 0) pause();
      if (strcmp(kind, "crash") == 0) raise(SIGSEGV);
    }
    outside += now() - entered;
    used += cpu() - spent;
    int mine = now() - began < seconds;
    MPI_Allreduce(&mine, &goes_on, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  printf("rank %d: since MPI_Init %.2f, CPU %.2f, outside %.2f, CPU outside %.2f, asleep %.2f, "
         "reading %.2f\n",
         rank, now() - began, cpu() - before, outside, used, asleep, reading);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
