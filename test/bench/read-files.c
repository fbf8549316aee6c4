// Does the minimum work of an observer of processes: once a second, this program opens, reads and
// closes the files of each process. With the argument threads, it also reads the files of each
// thread.
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char buffer[4096];

static void read_file(int folder, const char *task, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "%s/%s", task, name);
  int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  if (read(file, buffer, sizeof buffer) < 0) perror(path);
  close(file);
}

static void read_threads(int folder, const char *task) {
  static const char *const names[] = {"stat", "status", "schedstat", "io"};
  char path[64];
  snprintf(path, sizeof path, "%s/task", task);
  DIR *threads = fdopendir(openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!threads) return;
  for (struct dirent *entry; (entry = readdir(threads));) {
    if (!isdigit(entry->d_name[0])) continue;
    snprintf(path, sizeof path, "%s/task/%.12s", task, entry->d_name);
    for (int i = 0; i < 4; i++) read_file(folder, path, names[i]);
  }
  closedir(threads);
}

int main(int argc, char **argv) {
  static const char *const names[] = {"stat", "status", "schedstat", "io"};
  int has_threads = argc > 1 && !strcmp(argv[1], "threads");
  DIR *processes = opendir("/proc");
  int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct timespec due;
  clock_gettime(CLOCK_MONOTONIC, &due);
  for (;;) {
    rewinddir(processes);
    for (struct dirent *entry; (entry = readdir(processes));) {
      if (!isdigit(entry->d_name[0])) continue;
      for (int i = 0; i < 4; i++) read_file(folder, entry->d_name, names[i]);
      char path[64];
      struct stat facts;
      snprintf(path, sizeof path, "%.12s/fd", entry->d_name);
      fstatat(folder, path, &facts, 0);
      if (has_threads) read_threads(folder, entry->d_name);
    }
    due.tv_sec++;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
  }
}
