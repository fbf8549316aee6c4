// The first thread ends at once, and another thread works: first-thread-ends FILE. It uses memory
// and processor time, and writes 16 MiB. Then the program prints its own counters as JSON.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char *path;
static char memory[48 << 20];

static void *work(void *nothing) {
  for (size_t i = 0; i < sizeof memory; i += 4096) memory[i] = 1;
  struct timespec time;
  do {
    for (volatile int i = 0; i < 10000; i++) continue;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  } while (time.tv_sec < 1);
  int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (write(file, memory, 16 << 20) != 16 << 20) exit(2);
  fsync(file);
  close(file);
  sleep(2);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double cpu = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
               (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  printf("{\"cpu\":%f,\"rss\":%ld,\"written\":%ld}\n", cpu, usage.ru_maxrss,
         usage.ru_oublock * 512);
  fflush(stdout);
  sleep(1);
  exit(0);
}

int main(int count, char **words) {
  if (count < 2) return 2;
  path = words[1];
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_exit(NULL);
}
