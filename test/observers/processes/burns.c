// Uses processor time, prints its processor time and its context switches, and ends at once: burns
// SECONDS THREADS.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double seconds;

static void *burn(void *nothing) {
  struct timespec time;
  do {
    for (volatile int i = 0; i < 10000; i++) continue;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  } while (time.tv_sec + time.tv_nsec / 1e9 < seconds);
  return nothing;
}

int main(int count, char **words) {
  if (count < 3) return 2;
  int threads = atoi(words[2]);
  seconds = atof(words[1]) / threads;
  pthread_t others[64];
  for (int i = 1; i < threads; i++) pthread_create(&others[i], NULL, burn, NULL);
  burn(NULL);
  for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double cpu = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
               (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  printf("{\"cpu\":%f,\"switches\":%ld}\n", cpu, usage.ru_nvcsw + usage.ru_nivcsw);
}
