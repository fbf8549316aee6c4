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
//   signal to all ranks, and bash ends. Therefore the timer sends another signal (loader.h, TICK).
// - unw_init_local, unw_step: the handler runs on a stack of its own (ticks.c).
// - fprintf: the profiler writes a line to standard error when a program ends
//   (ProfileData::Stop).

#include "loader.h"
#include "ticks.h"

extern WEAK void *dlopen(const char *path, int flags);
extern WEAK void *dlsym(void *library, const char *name);
extern WEAK char *dlerror(void);
extern WEAK int *__errno_location(void);
extern WEAK char **environ;
// In a glibc before 2.34, a program that is not linked with libdl has only these (dlfcn/dlfcn.h).
extern WEAK void *__libc_dlopen_mode(const char *path, int flags);
extern WEAK void *__libc_dlsym(void *library, const char *name);
// Only a program that is itself linked with gperftools has this function.
extern WEAK int ProfilerStart(const char *path);
// Only a program that was built with AddressSanitizer has this function.
extern WEAK void __asan_init(void);

enum {
  RTLD_NOW = 2,
  // The flag that __libc_dlopen_mode needs.
  RTLD_DLOPEN = (int)0x80000000,
};
#define RTLD_NEXT ((void *)-1)

// libunwind's unw_init_local2, unw_get_reg and unw_step.
#if defined(__aarch64__)
#define INIT_LOCAL2 "_ULaarch64_init_local2"
#define GET_REGISTER "_ULaarch64_get_reg"
#define STEP "_ULaarch64_step"
#else
#define INIT_LOCAL2 "_ULx86_64_init_local2"
#define GET_REGISTER "_ULx86_64_get_reg"
#define STEP "_ULx86_64_step"
#endif

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
// The least limit of a program's memory (RLIMIT_AS, RLIMIT_DATA) with which the profiler is loaded.
// It takes about 12 MB, which a program with a lower limit may need.
#define MIN_MEMORY ((uint64_t)1 << 30)
// The size from which memory is always new, and therefore zero: only the profiler's table has it.
#define LARGE (1 << 20)
// The number of files that processes with the same id can have, one after the other.
#define MAX_FILES 100

struct profile profile;

// The function ProfilerStop of the profiler, and the reason why it was stopped before the end.
static void (*stop_profiler)(void);
static const char *stop_reason;
// Whether the profile is written before the end of the program.
static int is_stopping;

static size_t length(const char *text) {
  size_t count = 0;
  while (text[count] != '\0') count++;
  return count;
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

long open_file(const char *path, int flags, int mode) {
  return call(SYS_openat, AT_FDCWD, (long)path, flags, mode);
}

void close_file(long file) { call(SYS_close, file, 0, 0, 0); }

// Writes all bytes, unless an error occurs. A file beyond the limit RLIMIT_FSIZE would get the
// program the signal SIGXFSZ, which kills it; so this limit is checked before. Returns 0 on
// success.
int write_all(long file, const char *bytes, size_t count) {
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

void report(const char *reason) {
  char path[MAX_PATH], name[32], line[512];
  size_t at = 0;
  while (at < profile.folder_length) path[at] = profile.path[at], at++;
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

// Appends a line to the end of the profile, which programs that read profiles skip: the ticks, the
// ticks that were due, when the line was written (CLOCK_BOOTTIME), and why the profiler stopped
// before the program. If the program goes on afterwards, it is not known how many will have been
// due.
static void write_ticks(void) {
  char line[256];
  size_t at = append(line, sizeof line, 0, "ridealong: ticks=");
  at = append_number(line, sizeof line, at, count_ticks());
  if (!is_stopping) {
    at = append(line, sizeof line, at, " due=");
    at = append_number(line, sizeof line, at, count_due_ticks());
  }
  at = append(line, sizeof line, at, " written=");
  at = append_number(line, sizeof line, at, nanoseconds_since_boot());
  if (stop_reason != NULL) {
    at = append(line, sizeof line, at, " stopped=");
    at = append(line, sizeof line, at, stop_reason);
  }
  at = append(line, sizeof line, at, "\n");
  write_profile(line, at);
}

int get_errno(void) { return __errno_location == NULL ? 0 : *__errno_location(); }

void set_errno(int number) {
  if (__errno_location != NULL) *__errno_location() = number;
}

long with_errno(long result) {
  if (result >= 0) return result;
  set_errno((int)-result);
  return -1;
}

// A forked child, which calls the destructors of the profiler when it exits, opens nothing.
EXPORTED int rl_o(const char *path, int flags, int mode) {
  if (!is_own_process()) return (int)with_errno(-EACCES);
  if (profile.state != UNUSED || !is_equal(path, profile.path)) {
    return (int)with_errno(open_file(path, flags | O_CLOEXEC, mode));
  }
  profile.state = OPENED;
  return PROFILE;
}

EXPORTED int rl_cl(int file) {
  if (file == PROFILE && profile.state == WRITING && is_own_process()) write_ticks();
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
    if (is_own_process()) write_profile(bytes, count);
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

EXPORTED void *rl_mst(void *memory, int value, size_t count) {
  if (count > LARGE) return memory;
  for (size_t i = 0; i < count; i++) ((volatile char *)memory)[i] = (char)value;
  return memory;
}

EXPORTED int rl_fprint_chk(void) { return 0; }

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

// The function of the C library, or of another preloaded library, that a function of this library
// replaces.
void *next_function(const char *name) {
  if (dlsym != NULL) return dlsym(RTLD_NEXT, name);
  if (__libc_dlopen_mode == NULL || __libc_dlsym == NULL) return NULL;
  void *libc = __libc_dlopen_mode("libc.so.6", RTLD_NOW | RTLD_DLOPEN);
  return libc == NULL ? NULL : __libc_dlsym(libc, name);
}

static int has_limit(int resource) {
  uint64_t limit[2];
  if (call(SYS_prlimit64, 0, resource, 0, (long)limit) < 0) return 0;
  return limit[0] < MIN_MEMORY;
}

// Why the profiler must not be loaded, or NULL.
static const char *reason_against(void) {
  if (ProfilerStart != NULL) return "the program has its own profiler of gperftools";
  if (dlopen == NULL || dlsym == NULL || &environ == NULL) {
    return "the program has no function dlopen";
  }
  if (__asan_init != NULL) return "the program was built with AddressSanitizer";
  if (has_limit(RLIMIT_AS) || has_limit(RLIMIT_DATA)) {
    return "the program has a limit of its address space below 1 GiB (ulimit -v or -d)";
  }
  if (is_tick_ignored()) return "the program was started with SIGURG ignored";
  return NULL;
}

static const char *load_error(void) {
  const char *reason = dlerror == NULL ? NULL : dlerror();
  return reason == NULL ? "the profiler cannot be loaded" : reason;
}

static const char *load(void) {
  void *unwinder = dlopen("$ORIGIN/libridealong-unwind.so.8", RTLD_NOW);
  if (unwinder == NULL) return load_error();
  void *init = dlsym(unwinder, INIT_LOCAL2), *step = dlsym(unwinder, STEP);
  void *get_register = dlsym(unwinder, GET_REGISTER);
  if (init == NULL || step == NULL || get_register == NULL) return load_error();
  set_unwinder((struct unwinder){
      (int (*)(void *, void *, int))init,
      (int (*)(void *, int, uint64_t *))get_register,
      (int (*)(void *))step,
  });
  void *library = load_profiler();
  if (library == NULL) return load_error();
  void *begin = dlsym(library, "ProfilerStart");
  stop_profiler = (void (*)(void))dlsym(library, "ProfilerStop");
  if (begin == NULL || stop_profiler == NULL) return load_error();
  int is_started = ((int (*)(const char *))begin)(profile.path);
  return is_started ? NULL : "the profiler cannot be started";
}

// The profile is written at once if the program is about to forbid itself the system calls that
// this needs; otherwise at its end.
void step_aside(const char *reason, int is_last_chance) {
  if (stop_reason == NULL && is_own_process()) {
    stop_reason = reason;
    if (count_ticks() == 0) report(reason);
    is_stopping = is_last_chance;
    if (is_last_chance) stop_profiler();
  }
  stop_ticks();
}

__attribute__((constructor)) static void start(void) {
  // CPUPROFILE is the folder of the results and the beginning of the names of profiles.
  const char *prefix = variable("CPUPROFILE");
  if (prefix == NULL || prefix[0] != '/' || length(prefix) > MAX_PATH - 64) return;
  profile.process = call(SYS_getpid, 0, 0, 0, 0);
  size_t at = append(profile.path, MAX_PATH, 0, prefix);
  profile.folder_length = at;
  while (profile.path[profile.folder_length - 1] != '/') profile.folder_length--;
  at = append(profile.path, MAX_PATH, at, "_");
  profile.path_length = append_number(profile.path, MAX_PATH, at, profile.process);
  int before = get_errno();
  const char *reason = reason_against();
  if (reason == NULL) reason = load();
  if (reason != NULL) report(reason);
  set_errno(before);
}
