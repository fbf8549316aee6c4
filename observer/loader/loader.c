// Loads gperftools' CPU profiler into a program, if that is possible.
//
// The dynamic linker loads this library into every program of the target container (LD_PRELOAD).
// The library must not harm any of them, so it follows these rules:
//
// - It needs no other library, and all its undefined symbols are weak and have no version. The
//   dynamic linker ends a program if a library that a preloaded library needs is missing (ld.so(8);
//   glibc elf/rtld.c, do_preload and elf/dl-load.c, _dl_map_object; musl ldso/dynlink.c,
//   load_deps). It resolves a missing weak symbol to 0, and accepts any version of a symbol without
//   a version (glibc elf/dl-lookup.c, check_match). So the library also loads under musl, and under
//   a glibc before 2.34, where dlopen is only in libdl.
// - It loads the profiler with dlopen, whose failure does not end the program. The reason goes into
//   the file loader.log of the results folder.
// - System calls are made directly, so that they neither change errno nor depend on a C library.
// - The dynamic linker ignores this library in setuid programs (ld.so(8), secure-execution mode),
//   and no dynamic linker runs in static programs.
//
// build.sh changes the library of the profiler, and libunwind, with which it walks the stack, so
// that some functions of the C library are replaced by functions of this file (rl_…, with names of
// the same length). The reasons:
//
// - write: the profiler aborts the program if a write fails (gperftools src/profiledata.cc,
//   FDWrite), for example because the volume is full. rl_wr always succeeds.
// - open, close: the profiler has its file open as long as the program runs. A program that closes
//   all its files, such as sshd, would later get the profile in one of its own files. A child that
//   a program forks would write the profile of its parent again when it exits (CpuProfiler's
//   destructor). Here, the file is opened for each write and closed again, and only the process
//   that started the profiler writes.
// - setitimer: the timer of setitimer(2) survives execve(2), but the signal handler does not. The
//   signal SIGPROF would kill a program that does not load this library: a static or setuid
//   program, or one that gets an empty environment. A timer of timer_create(2) is deleted by
//   execve, and is also not inherited by a forked child.
// - pipe2, read, close, syscall in libunwind: it keeps a pipe open to find out whether memory can
//   be read (libunwind src/x86_64/Ginit.c, write_validate). If the program replaces these
//   descriptors by its own files, as a shell does with `exec 3>file`, libunwind reads, writes and
//   closes them. Here, there is no pipe.
// - memset: the profiler fills its table of 8 MiB with zeros, which costs every program this memory
//   and some milliseconds. Its operator new[] is calloc (cxx.c), so the table already is zero.
// - sigaction, sigprocmask: other programs also handle SIGPROF. Open MPI's mpirun forwards this
//   signal to all ranks, and bash ends. Therefore the timer sends another signal, which programs
//   hardly use.
// - fprintf: the profiler writes a line to standard error when a program ends
//   (ProfileData::Stop).

#include "../preload/system.h"
#include "../preload/text.h"

#define WEAK __attribute__((weak))
#define EXPORTED __attribute__((visibility("default")))

extern WEAK void *dlopen(const char *path, int flags);
extern WEAK void *dlsym(void *library, const char *name);
extern WEAK char *dlerror(void);
extern WEAK int *__errno_location(void);
extern WEAK int sigaction(int signal, const void *action, void *old);
extern WEAK char **environ;
// Only a program that is itself linked with gperftools has this function.
extern WEAK int ProfilerStart(const char *path);

enum {
  RTLD_NOW = 2,
  SIGPROF = 27,
  // A real-time signal. The C libraries use 32 to 34, and valgrind 64.
  TICK = 60,
};

// The number that the profiler gets instead of a file descriptor of its profile.
#define PROFILE 0x7fffff01
// The numbers that libunwind gets instead of the descriptors of its pipe.
#define PIPE_OUT 0x7fffff02
#define PIPE_IN 0x7fffff03
// The bytes that the profiler writes at the end if it has no samples: the header of five words and
// the trailer of three (gperftools src/profiledata.cc, Start and Stop).
#define EMPTY_PROFILE (8 * 8)
// The maximum bytes of loader.log. A script may start any number of programs.
#define MAX_LOG 65536
#define MAX_PATH 512
// The processor time of a program before the first sample, in nanoseconds.
#define DELAY 500000000
// The size from which memory is always new, and therefore zero: only the profiler's table has it.
#define LARGE (1 << 20)
// The number of files that processes with the same id can have, one after the other.
#define MAX_FILES 100

enum state { UNUSED, OPENED, WRITING, ENDED };

static struct {
  enum state state;
  long process;
  char path[MAX_PATH];
  size_t path_length;
  int32_t timer;
  int has_timer;
} profile;

static size_t length(const char *text) {
  size_t count = 0;
  while (text[count] != '\0') count++;
  return count;
}

static int is_equal(const char *one, const char *other) {
  while (*one != '\0' && *one == *other) one++, other++;
  return *one == *other;
}

// Returns the value of an environment variable, or NULL.
static const char *variable(const char *name) {
  size_t size = length(name);
  if (&environ == NULL || environ == NULL) return NULL;
  for (char **each = environ; *each != NULL; each++) {
    size_t at = 0;
    while (at < size && (*each)[at] == name[at]) at++;
    if (at == size && (*each)[at] == '=') return *each + at + 1;
  }
  return NULL;
}

static long open_file(const char *path, int flags, int mode) {
  return call(SYS_openat, AT_FDCWD, (long)path, flags, mode);
}

static void close_file(long file) { call(SYS_close, file, 0, 0, 0); }

// Writes all bytes, unless an error occurs. A file beyond the limit RLIMIT_FSIZE would get the
// program the signal SIGXFSZ, which kills it; so this limit is checked before. Returns 0 on
// success.
static int write_all(long file, const char *bytes, size_t count) {
  uint64_t limit[2];
  long end = call(SYS_lseek, file, 0, SEEK_END, 0);
  if (end < 0 || call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)limit) < 0) return -1;
  if (limit[0] < (uint64_t)end + count) return -1;
  while (count > 0) {
    long written = call(SYS_write, file, (long)bytes, (long)count, 0);
    if (written == -EINTR) continue;
    if (written <= 0) return -1;
    bytes += written;
    count -= (size_t)written;
  }
  return 0;
}

// Appends a line to loader.log: the process id, the name of the program and a reason.
static void report(const char *folder, size_t folder_length, const char *reason) {
  char path[MAX_PATH], name[32], line[512];
  size_t at = 0;
  while (at < folder_length && at + 1 < sizeof path) path[at] = folder[at], at++;
  append(path, sizeof path, at, "loader.log");
  int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  long file = open_file(path, flags, 0666);
  if (file < 0) return;
  long comm = open_file("/proc/self/comm", O_RDONLY | O_CLOEXEC, 0);
  long count = comm < 0 ? 0 : call(SYS_read, comm, (long)name, sizeof name - 1, 0);
  if (comm >= 0) close_file(comm);
  name[count > 1 ? count - 1 : 0] = '\0';
  at = append_number(line, sizeof line - 1, 0, call(SYS_getpid, 0, 0, 0, 0));
  at = append(line, sizeof line - 1, at, " ");
  at = append(line, sizeof line - 1, at, name);
  at = append(line, sizeof line - 1, at, ": ");
  at = append(line, sizeof line - 1, at, reason);
  for (size_t i = 0; i < at; i++) {
    if ((unsigned char)line[i] < ' ') line[i] = '?';
  }
  line[at++] = '\n';
  long end = call(SYS_lseek, file, 0, SEEK_END, 0);
  if (end >= 0 && end + (long)at <= MAX_LOG) write_all(file, line, at);
  close_file(file);
}

// Creates the file of the profile. If an earlier process had the same id, its file remains, and the
// name of the new file ends with a number.
static long create_profile(void) {
  int flags = O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  long file = open_file(profile.path, flags, 0644);
  for (int number = 1; file == -EEXIST && number < MAX_FILES; number++) {
    size_t at = append(profile.path, MAX_PATH, profile.path_length, ".");
    append_number(profile.path, MAX_PATH, at, number);
    file = open_file(profile.path, flags, 0644);
  }
  return file;
}

// Writes a part of the profile. A file is created only if there are samples, because most programs
// of a script end before the first one.
static void write_profile(const char *bytes, size_t count) {
  if (profile.state == OPENED && count <= EMPTY_PROFILE) profile.state = ENDED;
  if (profile.state != OPENED && profile.state != WRITING) return;
  int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  long file = profile.state == OPENED ? create_profile() : open_file(profile.path, flags, 0);
  profile.state = WRITING;
  if (file < 0 || write_all(file, bytes, count) != 0) profile.state = ENDED;
  if (file >= 0) close_file(file);
}

static long with_errno(long result) {
  if (result >= 0) return result;
  if (__errno_location != NULL) *__errno_location() = (int)-result;
  return -1;
}

EXPORTED int rl_o(const char *path, int flags, int mode) {
  if (profile.state != UNUSED || !is_equal(path, profile.path)) {
    return (int)with_errno(open_file(path, flags | O_CLOEXEC, mode));
  }
  profile.state = OPENED;
  return PROFILE;
}

EXPORTED int rl_cl(int file) {
  if (file == PROFILE || file == PIPE_OUT || file == PIPE_IN) return 0;
  return (int)with_errno(call(SYS_close, file, 0, 0, 0));
}

// Whether the eight bytes around an address can be read. With an invalid first argument, this
// system call only reads the set of signals, and fails with EFAULT if it cannot.
static int is_readable(const void *address) {
  long set = (long)address & ~7L;
  return call(SYS_rt_sigprocmask, -1, set, 0, 8) != -EFAULT;
}

EXPORTED int rl_pp(int files[2], int flags) {
  (void)flags;
  files[0] = PIPE_OUT;
  files[1] = PIPE_IN;
  return 0;
}

EXPORTED long rl_r(int file, void *bytes, size_t count) {
  if (file == PIPE_OUT) return with_errno(-EAGAIN);
  return with_errno(call(SYS_read, file, (long)bytes, (long)count, 0));
}

// This function also runs in a signal handler.
EXPORTED long rl_wr(int file, const void *bytes, size_t count) {
  if (file == PROFILE) {
    if (call(SYS_getpid, 0, 0, 0, 0) == profile.process) write_profile(bytes, count);
    return (long)count;
  }
  if (file == PIPE_IN) return is_readable(bytes) ? (long)count : with_errno(-EFAULT);
  if (file == STDERR) return (long)count;
  return with_errno(call(SYS_write, file, (long)bytes, (long)count, 0));
}

// libunwind writes into its pipe with syscall(2).
EXPORTED long rl_sysc(long number, long a, long b, long c, long d) {
  if (number == SYS_write) return rl_wr((int)a, (const void *)b, (size_t)c);
  return with_errno(call(number, a, b, c, d));
}

EXPORTED int rl_sigact(int signal, const void *action, void *old) {
  return sigaction(signal == SIGPROF ? TICK : signal, action, old);
}

// The profiler blocks and unblocks only its own signal.
EXPORTED int rl_sigprocm(int how, const void *set, void *old) {
  (void)set, (void)old;
  uint64_t tick = (uint64_t)1 << (TICK - 1);
  return (int)with_errno(call(SYS_rt_sigprocmask, how, (long)&tick, 0, sizeof tick));
}

EXPORTED void *rl_mst(void *memory, int value, size_t count) {
  if (count > LARGE) return memory;
  for (size_t i = 0; i < count; i++) ((volatile char *)memory)[i] = (char)value;
  return memory;
}

EXPORTED int rl_fprint_chk(void) { return 0; }

struct interval {
  int64_t seconds;
  int64_t microseconds;
};

// The kernel's struct sigevent, up to the member sigev_notify.
struct event {
  uint64_t value;
  int32_t signal;
  int32_t notify;
  uint64_t rest[6];
};

// Sets a timer of the processor time of the process. `timer` is a struct itimerval. The first
// signal comes after DELAY, so that programs such as shells, launchers and the first process of a
// container usually get none: some of them pass all signals on to their children (tini).
EXPORTED int rl_settim(int which, const struct interval timer[2], void *old) {
  (void)which, (void)old;
  if (call(SYS_getpid, 0, 0, 0, 0) != profile.process) return 0;
  if (profile.has_timer) call(SYS_timer_delete, profile.timer, 0, 0, 0);
  profile.has_timer = 0;
  if (timer[0].seconds == 0 && timer[0].microseconds == 0) return 0;
  struct event event = {.signal = TICK};
  long made = call(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, (long)&event, (long)&profile.timer, 0);
  if (made < 0) return (int)with_errno(made);
  profile.has_timer = 1;
  int64_t times[4] = {timer[0].seconds, timer[0].microseconds * 1000};
  times[3] = DELAY;
  return (int)with_errno(call(SYS_timer_settime, profile.timer, 0, (long)times, 0));
}

// Loads the profiler with an environment that has only its frequency, so that no other variable of
// the application changes it. Without CPUPROFILE, the profiler does not start by itself; so it also
// does not mark this variable for children (gperftools src/base/sysinfo.cc, GetUniquePathFromEnv),
// and the application's environment stays as it is. PERFTOOLS_VERBOSE turns off messages.
static void *load_profiler(void) {
  static char quiet[] = "PERFTOOLS_VERBOSE=-4";
  static char frequency[48];
  static char *small[3];
  const char *value = variable("CPUPROFILE_FREQUENCY");
  size_t at = append(frequency, sizeof frequency, 0, "CPUPROFILE_FREQUENCY=");
  append(frequency, sizeof frequency, at, value == NULL ? "100" : value);
  small[0] = quiet;
  small[1] = frequency;
  char **whole = environ;
  environ = small;
  void *library = dlopen("$ORIGIN/libprofiler.so.0", RTLD_NOW);
  if (environ == small) environ = whole;
  return library;
}

__attribute__((constructor)) static void start(void) {
  // CPUPROFILE is the folder of the results and the beginning of the names of profiles.
  const char *prefix = variable("CPUPROFILE");
  if (prefix == NULL || prefix[0] != '/' || length(prefix) > MAX_PATH - 64) return;
  size_t folder = length(prefix);
  while (prefix[folder - 1] != '/') folder--;
  if (ProfilerStart != NULL) {
    report(prefix, folder, "the program has its own profiler of gperftools");
    return;
  }
  if (dlopen == NULL || dlsym == NULL || sigaction == NULL || &environ == NULL) {
    report(prefix, folder, "the program has no function dlopen");
    return;
  }
  int before = __errno_location == NULL ? 0 : *__errno_location();
  profile.process = call(SYS_getpid, 0, 0, 0, 0);
  size_t at = append(profile.path, MAX_PATH, 0, prefix);
  at = append(profile.path, MAX_PATH, at, "_");
  profile.path_length = append_number(profile.path, MAX_PATH, at, profile.process);
  void *library = load_profiler();
  int (*begin)(const char *) = NULL;
  if (library != NULL) begin = (int (*)(const char *))dlsym(library, "ProfilerStart");
  if (begin == NULL) {
    const char *reason = dlerror == NULL ? NULL : dlerror();
    report(prefix, folder, reason == NULL ? "the profiler cannot be loaded" : reason);
  } else if (begin(profile.path) == 0) {
    report(prefix, folder, "the profiler cannot be started");
  }
  if (__errno_location != NULL) *__errno_location() = before;
}
