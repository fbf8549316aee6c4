// Starts the reader of NVIDIA's GPUs (reader.c) in the target container.
//
// The dynamic linker loads this library into every program of the target container (LD_PRELOAD).
// Where there is no /dev/nvidiactl, it makes one system call and does nothing. Otherwise the first
// program that can lock the file of the readings gets a keeper: a copy of the process, which
// executes the reader, watches it, and ends with the program. Nothing else happens in the program:
// NVML is opened only in the reader, so its crashes, its threads and its files are not those of the
// program.
//
// The program must not notice its keeper:
//
// - The keeper has no signal for its parent (clone(2)): the program gets no SIGCHLD, and wait(-1)
//   does not see it. execve(2) would give it one (fs/exec.c, de_thread). Therefore the reader is a
//   child of the keeper, and not of the program or of process 1 of the container, which often is
//   the program.
// - The keeper has none of the program's open files, so no pipe stays open, and a session of its
//   own.
// - The keeper ends with the program, and the kernel kills the reader when the keeper ends. The
//   kernel sends the keeper a signal when the thread that made it ends (prctl(2),
//   PR_SET_PDEATHSIG), but the program goes on if it has other threads, of which one then is the
//   parent.
//
// See ../python/sampler.c for the rules that each preloaded library follows.

#include "../preload/freestanding.h"
#include "../preload/system.h"

#include "readings.h"

// A test sets a shorter time.
#ifndef MAX_CALL_SECONDS
#define MAX_CALL_SECONDS 60
#endif

enum {
  FIRST_FREE = 10,
  PR_SET_PDEATHSIG = 1,
  PR_SET_NAME = 15,
  PR_SET_NO_NEW_PRIVS = 38,
  SIGKILL = 9,
  SIGCHLD = 17,
  SIGNALS = 64,
  SIG_SETMASK = 2,
  LOCK_EX = 2,
  LOCK_NB = 4,
  WNOHANG = 1,
  PRIO_PROCESS = 0,
  LOWEST_PRIORITY = 19,
  F_DUPFD = 0,
  RLIMIT_CORE = 4,
  // The files that are closed one by one where the kernel has no close_range (Linux before 5.9).
  MAX_FILES = 65536,
};

extern WEAK char *getenv(const char *name);

__attribute__((noreturn)) static void leave(void) {
  for (;;) call(SYS_exit_group, 0, 0, 0, 0);
}

// Waits until some seconds have passed, or the reader or the parent thread has ended. Ends the
// keeper with the program, which may have no right to send it a signal. Returns whether the time
// has passed.
static int pause_for(long seconds, long program) {
  uint64_t signals = 1ull << (SIGCHLD - 1);
  int64_t time[2] = {seconds, 0};
  long signal = call(SYS_rt_sigtimedwait, (long)&signals, 0, (long)time, sizeof signals);
  if (call(SYS_getppid, 0, 0, 0, 0) != program) leave();
  return signal == -EAGAIN;
}

static void write_state(enum state state, long detail) {
  uint32_t words[2] = {state, (uint32_t)detail};
  call(SYS_pwrite64, READINGS_NUMBER, (long)words, sizeof words, offsetof(struct readings, state));
}

// Closes all files but that of the readings, which gets its number, and opens /dev/null in place of
// the standard input and output.
static void separate_files(long file) {
  long moved = call(SYS_fcntl, file, F_DUPFD, FIRST_FREE, 0);
  if (moved < 0 || call(SYS_dup3, moved, READINGS_NUMBER, 0, 0) < 0) leave();
  long null = call(SYS_openat, AT_FDCWD, (long)"/dev/null", O_RDWR, 0);
  for (long number = 0; number < READINGS_NUMBER; number++) {
    if (null != number && call(SYS_dup3, null, number, 0, 0) < 0) call(SYS_close, number, 0, 0, 0);
  }
  if (call(SYS_close_range, READINGS_NUMBER + 1, ~0u, 0, 0) == 0) return;
  for (long number = READINGS_NUMBER + 1; number < MAX_FILES; number++) {
    call(SYS_close, number, 0, 0, 0);
  }
}

// Gives the keeper, and so the reader, what the program has not: default signals, the lowest
// priority, and the highest chance to be killed if memory is short. No core is dumped: 1 also
// prevents those to a pipe (core(5)).
static void become_background(void) {
  static const uint64_t action[4];
  for (long number = 1; number <= SIGNALS; number++) {
    call(SYS_rt_sigaction, number, (long)action, 0, sizeof action[0]);
  }
  call(SYS_setsid, 0, 0, 0, 0);
  call(SYS_chdir, (long)"/", 0, 0, 0);
  call(SYS_setpriority, PRIO_PROCESS, 0, LOWEST_PRIORITY, 0);
  call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
  uint64_t no_core[2] = {1, 1};
  call(SYS_prlimit64, 0, RLIMIT_CORE, (long)no_core, 0);
  long file = call(SYS_openat, AT_FDCWD, (long)"/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0);
  call(SYS_write, file, (long)"1000", 4, 0);
  call(SYS_close, file, 0, 0, 0);
}

// Executes the reader. Of the program's variables, it gets only the folders of libraries, because
// some images name that of NVML there.
static void execute_reader(long keeper) {
  uint64_t no_signals = 0;
  char *words[] = {READER, NULL}, *variables[] = {NULL, NULL};
  char *folders = getenv == NULL ? NULL : getenv("LD_LIBRARY_PATH");
  if (folders != NULL) variables[0] = folders - (sizeof "LD_LIBRARY_PATH=" - 1);
  call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
  if (call(SYS_getppid, 0, 0, 0, 0) != keeper) leave();
  call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&no_signals, 0, sizeof no_signals);
  long error = call(SYS_execve, (long)READER, (long)words, (long)variables, 0);
  write_state(NOT_EXECUTABLE, -error);
  leave();
}

// Whether the reader has been in the same call for too long. Seconds are counted while the keeper
// runs, so that a container that was frozen has no hanging call.
static int is_hanging(void) {
  static uint64_t last;
  static int seconds;
  uint64_t now = 0;
  call(SYS_pread64, READINGS_NUMBER, (long)&now, sizeof now, offsetof(struct readings, call));
  seconds = now != 0 && now == last ? seconds + 1 : 0;
  last = now;
  return seconds >= MAX_CALL_SECONDS;
}

// Waits until the reader has ended, and writes why. The reader itself writes why it ends with 0.
static void watch(long reader, long program) {
  int status = 0, is_hung = 0;
  while (call(SYS_wait4, reader, (long)&status, WNOHANG, 0) == 0) {
    if (!pause_for(1, program) || is_hung || !is_hanging()) continue;
    is_hung = 1;
    write_state(HUNG, 0);
    call(SYS_kill, reader, SIGKILL, 0, 0);
  }
  if (is_hung) return;
  if ((status & 0x7f) != 0) write_state(KILLED, status & 0x7f);
  else if (status >> 8 != 0) write_state(EXITED, status >> 8 & 0xff);
}

// The keeper. It stays when the reader has ended: without it, the next program would start another
// reader, which would end in the same way.
__attribute__((noreturn)) static void keep(long file, long program) {
  call(SYS_prctl, PR_SET_PDEATHSIG, SIGCHLD, 0, 0);
  if (call(SYS_getppid, 0, 0, 0, 0) != program) leave();
  call(SYS_prctl, PR_SET_NAME, (long)NAME, 0, 0);
  separate_files(file);
  become_background();
  static struct readings none;
  memcpy(none.magic, MAGIC, sizeof MAGIC);
  // The observer may be another user, and the program's umask does not matter.
  call(SYS_fchmod, READINGS_NUMBER, 0644, 0, 0);
  call(SYS_ftruncate, READINGS_NUMBER, 0, 0, 0);
  if (call(SYS_pwrite64, READINGS_NUMBER, (long)&none, sizeof none, 0) != sizeof none) leave();
  long keeper = call(SYS_getpid, 0, 0, 0, 0);
  long reader = call(SYS_clone, SIGCHLD, 0, 0, 0);
  if (reader == 0) execute_reader(keeper);
  if (reader < 0) write_state(NOT_EXECUTABLE, -reader);
  else watch(reader, program);
  for (;;) pause_for(60, program);
}

__attribute__((constructor)) static void begin(void) {
  if (call(SYS_faccessat, AT_FDCWD, (long)"/dev/nvidiactl", 0, 0) != 0) return;
  int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  long file = call(SYS_openat, AT_FDCWD, (long)FOLDER "/readings", flags, 0644);
  if (file < 0) return;
  // The keeper has the same open file, and so the lock, until it ends (flock(2)).
  if (call(SYS_flock, file, LOCK_EX | LOCK_NB, 0, 0) == 0) {
    uint64_t all = ~0ull, before = 0;
    call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof before);
    long program = call(SYS_getpid, 0, 0, 0, 0);
    // Neither a shared memory nor a signal for the parent.
    if (call(SYS_clone, 0, 0, 0, 0) == 0) keep(file, program);
    call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
  }
  call(SYS_close, file, 0, 0, 0);
}
