// Programs that the tests profile: work TASK [STEPS], where the first function of each task takes
// about STEPS steps of a loop. Each task ends with its own exit code.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

static void *run(void *steps) {
  light(*(long *)steps);
  return NULL;
}

int main(int count, char **words) {
  const char *task = words[1];
  long steps = count > 2 ? atol(words[2]) : 30000000;
  if (strcmp(task, "ratio") == 0) {
    for (int i = 0; i < 20; i++) light(steps / 20), heavy(3 * (steps / 20));
    return deep(5, steps) == 6 ? 3 : 1;
  }
  if (strcmp(task, "wait") == 0) {
    light(steps);
    puts("waiting");
    fflush(stdout);
    pause();
  }
  if (strcmp(task, "exec") == 0) {
    light(steps);
    execv(words[3], words + 3);
  }
  // Children that end with exit, and so run the functions that libraries have registered for it.
  if (strcmp(task, "fork") == 0) {
    light(steps);
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
    light(steps);
    for (int i = 0; i < 8; i++) fprintf(files[i], "mine\n");
    return 4;
  }
  if (strcmp(task, "threads") == 0) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, run, &steps);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 6;
  }
  return 1;
}
