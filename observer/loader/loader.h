// What the files of the loader share. loader.c describes the library.

#pragma once

#include "../preload/system.h"
#include "../preload/text.h"

#define WEAK __attribute__((weak))
#define EXPORTED __attribute__((visibility("default")))

#define MAX_PATH 512

enum {
  SIGPROF = 27,
  // The signal of the timer. Its default action is to ignore it, so a tick that reaches a program
  // without the handler does no harm: a launcher such as tini forwards it to its child. Go uses the
  // same signal to interrupt its own threads, for the same reasons (runtime/signal_unix.go,
  // sigPreempt). The other such signals are no alternatives: servers end gracefully after SIGWINCH
  // (Apache httpd, nginx), and SIGCHLD is common.
  TICK = 23,
};

// What the profiler does in this process.
enum state { UNUSED, OPENED, WRITING, ENDED };

struct profile {
  enum state state;
  long process;
  char path[MAX_PATH];
  size_t path_length;
  // The length of the folder of the results, the beginning of `path`.
  size_t folder_length;
};

// Ends the profiler for the rest of the process. `reason` explains it. `is_last_chance`: whether
// the profile has to be written now.
void step_aside(const char *reason, int is_last_chance);

extern struct profile profile __attribute__((visibility("hidden")));

// The function of the C library, or of another preloaded library, that a function of this library
// replaces. NULL if there is none.
void *next_function(const char *name);

// Appends a line to loader.log: the process id, the name of the program and a reason.
void report(const char *reason);

long with_errno(long result);

// The program's errno. A program without a C library has none, and then it is 0.
int get_errno(void);
void set_errno(int number);

// Files, with system calls only. `write_all` returns 0 if it has written all bytes; it does not
// write beyond the limit of the size of files, which would end the program.
long open_file(const char *path, int flags, int mode);
int write_all(long file, const char *bytes, size_t count);
void close_file(long file);

static inline int is_own_process(void) {
  return call(SYS_getpid, 0, 0, 0, 0) == profile.process;
}
