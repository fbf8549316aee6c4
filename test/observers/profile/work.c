// Programs that the tests profile: work TASK [MILLISECONDS]. Each task uses this much processor
// time, and ends with its own exit code.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

volatile double sum;

__attribute__((noinline)) void light(long steps) {
  for (long i = 0; i < steps; i++) sum += i * 0.5;
}

__attribute__((noinline)) void heavy(long steps) {
  for (long i = 0; i < steps; i++) sum += i * 0.5;
}

// Calls itself.
__attribute__((noinline)) long deep(long depth, long steps) {
  if (depth == 0) light(steps);
  return depth == 0 ? 1 : deep(depth - 1, steps) + 1;
}

// Whether the process has used this much processor time since its start.
static int has_used(double milliseconds) {
  return clock() >= milliseconds / 1000 * CLOCKS_PER_SEC;
}

// Returns 50,000 to 150,000 steps, each time others: the kernel takes samples at its ticks, and
// would take them in always the same function if the length of a loop were a part of a tick.
static long varied(void) {
  static unsigned state = 1;
  state = state * 1103515245 + 12345;
  return 50000 + (state >> 16) % 100001;
}

static void *use(void *milliseconds) {
  while (!has_used(*(double *)milliseconds)) light(200000);
  return NULL;
}

int main(int count, char **words) {
  const char *task = words[1];
  double milliseconds = count > 2 ? atof(words[2]) : 1000;
  if (strcmp(task, "ratio") == 0) {
    while (!has_used(milliseconds * 0.8)) {
      long steps = varied();
      light(steps), heavy(9 * steps);
    }
    while (!has_used(milliseconds)) deep(5, 400000);
    return 3;
  }
  if (strcmp(task, "wait") == 0) {
    use(&milliseconds);
    puts("waiting");
    fflush(stdout);
    pause();
  }
  if (strcmp(task, "exec") == 0) {
    use(&milliseconds);
    execv(words[3], words + 3);
  }
  // Children that end with exit, and so run the functions that libraries have registered for it.
  if (strcmp(task, "fork") == 0) {
    use(&milliseconds);
    for (int i = 0; i < 3; i++) {
      if (fork() == 0) exit(0);
    }
    int status, failed = 0;
    while (wait(&status) > 0) failed += status != 0;
    return failed == 0 ? 5 : 1;
  }
  // A program that closes all files that it does not know, and then opens its own.
  if (strcmp(task, "close") == 0) {
    for (int i = 3; i < 1024; i++) close(i);
    FILE *files[8];
    for (int i = 0; i < 8; i++) files[i] = fopen(words[3], "a");
    use(&milliseconds);
    for (int i = 0; i < 8; i++) fprintf(files[i], "mine\n");
    return 4;
  }
  if (strcmp(task, "threads") == 0) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, use, &milliseconds);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 6;
  }
  // Prints the processor time of the process, in seconds.
  if (strcmp(task, "burn") == 0) {
    int more = atoi(words[3]) - 1;
    pthread_t threads[64];
    for (int i = 0; i < more; i++) pthread_create(&threads[i], NULL, use, &milliseconds);
    use(&milliseconds);
    for (int i = 0; i < more; i++) pthread_join(threads[i], NULL);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("used %.6f\n", used.ru_utime.tv_sec + used.ru_stime.tv_sec +
                              (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return 0;
  }
  return 1;
}
