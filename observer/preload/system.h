// System calls of Linux for libraries that the dynamic linker preloads. They are made directly: they
// do not change errno, and do not depend on a C library. Each returns a negative error number if it
// fails.

#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
  O_RDONLY = 0,
  O_WRONLY = 1,
  O_RDWR = 2,
  O_CREAT = 0100,
  O_EXCL = 0200,
  O_APPEND = 02000,
  O_NONBLOCK = 04000,
#if defined(__aarch64__)
  O_DIRECTORY = 040000,
  O_NOFOLLOW = 0100000,
#else
  O_DIRECTORY = 0200000,
  O_NOFOLLOW = 0400000,
#endif
  O_CLOEXEC = 02000000,
  AT_FDCWD = -100,
  SEEK_END = 2,
  STDERR = 2,
  EPERM = 1,
  ESRCH = 3,
  EINTR = 4,
  EAGAIN = 11,
  EACCES = 13,
  EFAULT = 14,
  EEXIST = 17,
  EINVAL = 22,
  CLOCK_MONOTONIC = 1,
  CLOCK_PROCESS_CPUTIME_ID = 2,
  CLOCK_THREAD_CPUTIME_ID = 3,
  CLOCK_BOOTTIME = 7,
  ENOSYS = 38,
  RLIMIT_FSIZE = 1,
  PROT_READ = 1,
  PROT_WRITE = 2,
  MAP_SHARED = 1,
  MAP_PRIVATE = 2,
  MAP_ANONYMOUS = 32,
  MADV_WIPEONFORK = 18,
  MFD_CLOEXEC = 1,
  MFD_ALLOW_SEALING = 2,
  MFD_NOEXEC_SEAL = 8,
  F_ADD_SEALS = 1033,
  F_SEAL_SEAL = 1,
  F_SEAL_SHRINK = 2,
  F_SEAL_GROW = 4,
  F_DUPFD_CLOEXEC = 1030,
  RLIMIT_DATA = 2,
  RLIMIT_AS = 9,
};

#if defined(__x86_64__)
enum {
  SYS_read = 0,
  SYS_write = 1,
  SYS_close = 3,
  SYS_fstat = 5,
  SYS_lseek = 8,
  SYS_mmap = 9,
  SYS_mprotect = 10,
  SYS_munmap = 11,
  SYS_rt_sigaction = 13,
  SYS_rt_sigprocmask = 14,
  SYS_pread64 = 17,
  SYS_pwrite64 = 18,
  SYS_sched_yield = 24,
  SYS_madvise = 28,
  SYS_getpid = 39,
  SYS_clone = 56,
  SYS_execve = 59,
  SYS_wait4 = 61,
  SYS_kill = 62,
  SYS_fcntl = 72,
  SYS_flock = 73,
  SYS_ftruncate = 77,
  SYS_chdir = 80,
  SYS_fchmod = 91,
  SYS_getppid = 110,
  SYS_setsid = 112,
  SYS_rt_sigtimedwait = 128,
  SYS_setpriority = 141,
  SYS_prctl = 157,
  SYS_gettid = 186,
  SYS_futex = 202,
  SYS_getdents64 = 217,
  SYS_timer_create = 222,
  SYS_timer_settime = 223,
  SYS_timer_delete = 226,
  SYS_clock_gettime = 228,
  SYS_exit_group = 231,
  SYS_tgkill = 234,
  SYS_openat = 257,
  SYS_readlinkat = 267,
  SYS_faccessat = 269,
  SYS_dup3 = 292,
  SYS_prlimit64 = 302,
  SYS_process_vm_readv = 310,
  SYS_memfd_create = 319,
  SYS_close_range = 436,
};

static inline long call_with_six(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static inline long call(long number, long a, long b, long c, long d) {
  long result;
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
enum {
  SYS_dup3 = 24,
  SYS_fcntl = 25,
  SYS_flock = 32,
  SYS_ftruncate = 46,
  SYS_faccessat = 48,
  SYS_chdir = 49,
  SYS_fchmod = 52,
  SYS_openat = 56,
  SYS_close = 57,
  SYS_getdents64 = 61,
  SYS_lseek = 62,
  SYS_read = 63,
  SYS_write = 64,
  SYS_pread64 = 67,
  SYS_pwrite64 = 68,
  SYS_readlinkat = 78,
  SYS_fstat = 80,
  SYS_exit_group = 94,
  SYS_futex = 98,
  SYS_timer_create = 107,
  SYS_timer_settime = 110,
  SYS_timer_delete = 111,
  SYS_clock_gettime = 113,
  SYS_sched_yield = 124,
  SYS_kill = 129,
  SYS_tgkill = 131,
  SYS_rt_sigaction = 134,
  SYS_rt_sigprocmask = 135,
  SYS_rt_sigtimedwait = 137,
  SYS_setpriority = 140,
  SYS_setsid = 157,
  SYS_prctl = 167,
  SYS_getpid = 172,
  SYS_getppid = 173,
  SYS_gettid = 178,
  SYS_munmap = 215,
  SYS_clone = 220,
  SYS_execve = 221,
  SYS_mmap = 222,
  SYS_mprotect = 226,
  SYS_madvise = 233,
  SYS_wait4 = 260,
  SYS_prlimit64 = 261,
  SYS_process_vm_readv = 270,
  SYS_memfd_create = 279,
  SYS_close_range = 436,
};

static inline long call_with_six(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
}

static inline long call(long number, long a, long b, long c, long d) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
}
#else
#error "preloaded libraries support x86_64 and aarch64"
#endif
