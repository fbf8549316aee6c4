// A second thread writes 24 MiB, sleeps 1,000 times, and executes this program again. The program
// then prints its own counters as JSON: executes FILE.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char **words;

static void *work(void *nothing) {
  static char block[1 << 20];
  int file = open(words[1], O_CREAT | O_WRONLY | O_TRUNC, 0600);
  for (int i = 0; i < 24; i++)
    if (write(file, block, sizeof block) != sizeof block) exit(2);
  fsync(file);
  close(file);
  for (int i = 0; i < 1000; i++) usleep(1000);
  // Scans see the counters of this thread before it executes the program.
  sleep(2);
  execl(words[0], words[0], words[1], "again", (char *)NULL);
  exit(2);
}

static unsigned long long of(const char *key) {
  unsigned long long value = 0;
  char line[200];
  FILE *io = fopen("/proc/self/io", "r");
  while (fgets(line, sizeof line, io))
    if (!strncmp(line, key, strlen(key))) value = strtoull(line + strlen(key), NULL, 10);
  fclose(io);
  return value;
}

int main(int count, char **arguments) {
  words = arguments;
  if (count > 2) {
    sleep(3);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"switches\":%ld,\"read\":%llu,\"written\":%llu}\n",
           usage.ru_nvcsw + usage.ru_nivcsw, of("read_bytes:"), of("write_bytes:"));
    fflush(stdout);
    sleep(2);
    return 0;
  }
  // The kernel adds the I/O of a child to that of its parent. The observer therefore reads the I/O
  // of each thread.
  if (fork() == 0) _exit(0);
  wait(NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pause();
}
