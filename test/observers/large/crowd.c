// Starts many processes or threads, which wait until they are killed:
//   crowd COUNT           COUNT processes, including the first process
//   crowd COUNT THREADS   COUNT processes with THREADS threads each
// The first process ends with exit code 7 on SIGUSR1. When all processes and threads have started,
// the first process writes "ready COUNT", with the number of threads that the machine allowed. A
// process without THREADS counts as one thread.

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *wait_forever(void *unused) {
  for (;;) pause();
  return unused;
}

static void end(int unused) { _exit(7 + 0 * unused); }

// Starts threads until the process has `count` threads, including its first thread, and returns the
// number of its threads. All stacks share one mapping, because vm.max_map_count limits the mappings
// of a process.
static long start_threads(long count) {
  const size_t size = 16384;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char *stacks = mmap(NULL, size * count, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (stacks == MAP_FAILED) return 1;
  long started = 1;
  for (; started < count; started++) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks + started * size, size);
    if (pthread_create(&thread, &attributes, wait_forever, NULL) != 0) break;
  }
  return started;
}

// Starts the threads of a child and reports their number to the first process.
static void be_child(long threads, int out) {
  // If the children kept these descriptors, the output of the first process would stay open after
  // this process has ended.
  close(STDOUT_FILENO);
  close(STDERR_FILENO);
  long started = start_threads(threads);
  if (write(out, &started, sizeof started) != sizeof started) _exit(1);
  wait_forever(NULL);
}

int main(int argc, char **argv) {
  long processes = argc > 1 ? atol(argv[1]) : 1;
  long threads = argc > 2 ? atol(argv[2]) : 1;
  int ends[2];
  if (pipe(ends) != 0) return 1;
  long children = 0;
  for (; children < processes - 1; children++) {
    pid_t child = fork();
    if (child < 0) break;
    if (child == 0) be_child(threads, ends[1]);
  }
  signal(SIGUSR1, end);
  long total = start_threads(threads);
  for (long at = 0; at < children; at++) {
    long started;
    if (read(ends[0], &started, sizeof started) != sizeof started) return 1;
    total += started;
  }
  printf("ready %ld\n", total);
  fflush(stdout);
  wait_forever(NULL);
}
