// Runs a load of one kind for at least twelve seconds: load KIND FILE [PAUSE]. It sleeps for PAUSE
// seconds before it begins. Before it ends, the program prints its values from getrusage as JSON.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double SECONDS = 12;
static const size_t BLOCK = 1 << 20;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void burn(double seconds) {
  for (double end = now() + seconds; now() < end;)
    for (volatile int i = 0; i < 100000; i++) continue;
}

static void *block(void) {
  void *memory;
  if (posix_memalign(&memory, 4096, BLOCK)) exit(2);
  return memset(memory, 7, BLOCK);
}

static void write_file(const char *path, int count) {
  void *memory = block();
  int file = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
  for (int i = 0; i < count; i++) {
    if (write(file, memory, BLOCK) != (ssize_t)BLOCK) exit(2);
    usleep(1000000 * SECONDS / count);
  }
  close(file);
}

static void read_file(const char *path) {
  void *memory = block();
  int file = open(path, O_CREAT | O_TRUNC | O_RDWR | O_DIRECT, 0600);
  for (int i = 0; i < 8; i++)
    if (write(file, memory, BLOCK) != (ssize_t)BLOCK) exit(2);
  for (int i = 0; i < 100; i++) {
    if (pread(file, memory, BLOCK, (i % 8) * BLOCK) != (ssize_t)BLOCK) exit(2);
    usleep(1000000 * SECONDS / 100);
  }
}

static void *switch_often(void *nothing) {
  for (double end = now() + SECONDS; now() < end;) usleep(500);
  return nothing;
}

static void *burn_some(void *nothing) {
  for (int i = 0; i < 120; i++) {
    burn(0.01);
    usleep(90000);
  }
  return nothing;
}

static void in_threads(void *(*work)(void *), int count) {
  pthread_t threads[8];
  for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, work, NULL);
  // The context switches of a thread can be read only until the thread ends. Therefore each thread
  // sleeps for a second before it ends.
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

static void *then_wait(void *nothing) {
  burn_some(NULL);
  switch_often(NULL);
  sleep(1);
  return nothing;
}

static void grow(void) {
  for (int i = 0; i < 60; i++) {
    block();
    usleep(1000000 * SECONDS / 60);
  }
}

// Starts children that end before the observer can scan them twice.
static void launch(const char *path) {
  for (int i = 0; i < 60; i++) {
    if (fork() == 0) {
      burn(0.03);
      int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
      if (i < 40 && write(file, block(), BLOCK) != (ssize_t)BLOCK) exit(2);
      fsync(file);
      _exit(0);
    }
    wait(NULL);
    usleep(1000000 * SECONDS / 60);
  }
}

int main(int argc, char **argv) {
  const char *kind = argc > 2 ? argv[1] : "";
  if (argc > 3) sleep(atoi(argv[3]));
  if (!strcmp(kind, "burn")) burn(SECONDS);
  else if (!strcmp(kind, "write")) write_file(argv[2], 100);
  else if (!strcmp(kind, "read")) read_file(argv[2]);
  else if (!strcmp(kind, "switch")) switch_often(NULL);
  else if (!strcmp(kind, "grow")) grow();
  else if (!strcmp(kind, "threads")) in_threads(then_wait, 4);
  else if (!strcmp(kind, "launch")) launch(argv[2]);
  else return 2;
  sleep(1);
  struct rusage own, children;
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &children);
#define SECONDS(time) (time.tv_sec + time.tv_usec / 1e6)
#define CPU(usage) (SECONDS(usage.ru_utime) + SECONDS(usage.ru_stime))
  printf("{\"cpu\":%.6f,\"rss\":%ld,\"read\":%ld,\"written\":%ld,", CPU(own), own.ru_maxrss,
         own.ru_inblock * 512, own.ru_oublock * 512);
  printf("\"switches\":%ld,\"children\":%.6f}\n", own.ru_nvcsw + own.ru_nivcsw, CPU(children));
  return 0;
}
