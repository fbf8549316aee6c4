// A program of known use, for the cgroups of its container. Each word is a step: burn=SECONDS of
// processor time; touch=MIB of memory, which is then freed; grow=MIB of memory, one after another;
// write=MIB and read=MIB of the disk; oom=MIB of memory in a child; nest, which moves this process
// to a cgroup below that of the container; ready, for which the guest waits. The program then
// sleeps.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK (1 << 16)
#define CGROUP "/sys/fs/cgroup"

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static double processor_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void burn(double seconds) {
  double end = processor_time() + seconds;
  while (processor_time() < end)
    for (volatile int i = 0; i < 10000; i++);
}

static char *allocate(int mib) {
  size_t size = (size_t)mib << 20;
  char *memory = malloc(size);
  if (memory == NULL) fail("malloc");
  for (size_t i = 0; i < size; i += 4096) memory[i] = 1;
  return memory;
}

/** Grows by 1 MiB per second, even if the machine is busy for a moment. */
static void grow(int mib) {
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (int i = 0; i < mib; i++) {
    allocate(1);
    next.tv_sec += 1;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
  }
}

/** Moves data between memory and the disk without the cache, so that all of it is I/O. */
static void transfer(int mib, int is_write) {
  void *block;
  int disk = open("/dev/vda", (is_write ? O_WRONLY : O_RDONLY) | O_DIRECT);
  if (disk < 0 || posix_memalign(&block, 4096, BLOCK) != 0) fail("/dev/vda");
  memset(block, 7, BLOCK);
  for (int left = (mib << 20) / BLOCK; left > 0; left--)
    if ((is_write ? write(disk, block, BLOCK) : read(disk, block, BLOCK)) != BLOCK) fail("disk");
  close(disk);
}

/** A child that the kernel kills, because its memory does not fit into the limit. */
static void overflow(int mib) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    allocate(mib);
    exit(0);
  }
  if (waitpid(child, &status, 0) < 0 || !WIFSIGNALED(status)) fail("the child was not killed");
}

static void put(const char *path, const char *text) {
  int file = open(path, O_WRONLY);
  if (file < 0 || write(file, text, strlen(text)) < 0) fail(path);
  close(file);
}

static void nest(void) {
  if (mkdir(CGROUP "/leaf", 0755) < 0) fail("mkdir");
  put(CGROUP "/leaf/cgroup.procs", "0");
  put(CGROUP "/cgroup.subtree_control", "+cpu +memory");
}

int main(int count, char **words) {
  for (int i = 1; i < count; i++) {
    char *number = strchr(words[i], '=');
    int value = number == NULL ? 0 : atoi(number + 1);
    if (strncmp(words[i], "burn=", 5) == 0) burn(value);
    else if (strncmp(words[i], "touch=", 6) == 0) free(allocate(value));
    else if (strncmp(words[i], "grow=", 5) == 0) grow(value);
    else if (strncmp(words[i], "write=", 6) == 0) transfer(value, 1);
    else if (strncmp(words[i], "read=", 5) == 0) transfer(value, 0);
    else if (strncmp(words[i], "oom=", 4) == 0) overflow(value);
    else if (strcmp(words[i], "nest") == 0) nest();
    else if (strcmp(words[i], "ready") == 0) puts("ready"), fflush(stdout);
    else fail(words[i]);
  }
  for (;;) pause();
}
