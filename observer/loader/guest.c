// Functions of the C library that this library replaces in the program, so that the program does
// not notice the profiler. Each calls the function of the C library (or of another preloaded
// library), and all C libraries have them, except makecontext.
//
// The program sees the default action of the signal of the timer. As soon as the program itself
// handles, ignores or waits for this signal, or installs a filter of system calls, the profiler
// stops for the rest of the process.

#include "loader.h"
#include "ticks.h"

extern WEAK void __asan_init(void);

enum {
  PR_SET_SECCOMP = 22,
  // Needed before a filter, unless the program has CAP_SYS_ADMIN (seccomp(2)); libseccomp, which
  // then installs its filter by a direct system call, also sets it.
  PR_SET_NO_NEW_PRIVS = 38,
};

#define SIG_DFL ((void *)0)
#define SIG_ERR ((void *)-1)
#define HANDLES "the program uses the signal SIGURG itself"
#define FILTERS "the program restricts its system calls (seccomp, no_new_privs)"
#define COROUTINES "the program has coroutines with small stacks"
// The least stack of a coroutine in which the kernel can call a signal handler: the registers
// take up to 12 KiB with AMX, and the coroutine needs some, too.
#define MIN_STACK 32768

// The beginning of ucontext_t.
struct context {
  unsigned long flags;
  void *link;
  void *stack;
  int stack_flags;
  size_t stack_size;
};

// Declares a pointer `next` to the function of the C library that the function replaces.
#define NEXT(name, type, ...)                                           \
  typedef type next_type(__VA_ARGS__);                                  \
  static next_type *next;                                               \
  if (next == NULL) next = (next_type *)next_function(name);

static int is_in(const uint64_t *set) {
  return set != NULL && (*set & ((uint64_t)1 << (TICK - 1))) != 0;
}

// A program that takes its signals with these functions would get those of the timer, too.
static void before_wait(const uint64_t *set) {
  if (is_in(set) && has_tick_handler()) step_aside(HANDLES, 0);
}

// Returns whether the program sees no difference if its call of sigaction, signal, … is omitted.
static int is_unchanged(int signal, const void *handler) {
  if (signal != TICK || !has_tick_handler()) return 0;
  if (handler == SIG_DFL) return 1;
  step_aside(HANDLES, 0);
  return 0;
}

EXPORTED int sigaction(int signal, const struct action *action, struct action *old) {
  NEXT("sigaction", int, int, const struct action *, struct action *)
  if (is_unchanged(signal, action == NULL ? SIG_DFL : action->handler)) {
    if (old != NULL) *old = (struct action){0};
    return 0;
  }
  return next == NULL ? (int)with_errno(-ENOSYS) : next(signal, action, old);
}

// The functions that only set a handler, and return the one before.
#define SET_HANDLER(name)                                               \
  EXPORTED void *name(int signal, void *handler) {                      \
    NEXT(#name, void *, int, void *)                                    \
    if (is_unchanged(signal, handler)) return SIG_DFL;                  \
    if (next != NULL) return next(signal, handler);                     \
    with_errno(-ENOSYS);                                                \
    return SIG_ERR;                                                     \
  }

SET_HANDLER(signal)
SET_HANDLER(bsd_signal)
SET_HANDLER(__sysv_signal)
SET_HANDLER(sigset)

EXPORTED int sigignore(int signal) {
  NEXT("sigignore", int, int)
  is_unchanged(signal, SIG_ERR);
  return next == NULL ? (int)with_errno(-ENOSYS) : next(signal);
}

EXPORTED int sigwait(const uint64_t *set, int *signal) {
  NEXT("sigwait", int, const uint64_t *, int *)
  before_wait(set);
  return next == NULL ? ENOSYS : next(set, signal);
}

// siginfo_t, and struct timespec.
union any_information {
  struct information timer;
  char bytes[128];
};
struct time {
  int64_t seconds, nanoseconds;
};
typedef int waiting(const uint64_t *set, void *information, const struct time *timeout);

static struct time read_time(void) {
  struct time now = {0};
  call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
  return now;
}

// Returns the rest of a timeout that began at this time.
static struct time rest_of(const struct time *timeout, struct time began) {
  struct time now = read_time();
  int64_t seconds = timeout->seconds - (now.seconds - began.seconds);
  int64_t nanoseconds = timeout->nanoseconds - (now.nanoseconds - began.nanoseconds);
  if (nanoseconds < 0) nanoseconds += 1000000000, seconds--;
  if (nanoseconds >= 1000000000) nanoseconds -= 1000000000, seconds++;
  return seconds < 0 ? (struct time){0} : (struct time){seconds, nanoseconds};
}

// Waits for the signals of a set as if there were no ticks. A tick is for the process. While it is
// pending, until the thread that used the processor time takes it, the kernel ends this call in any
// thread with EINTR (kernel/signal.c, do_sigtimedwait). Blocking the signal does not help: the tick
// of a thread that blocks it ends a call of another thread. So this thread waits for ticks, too,
// and counts those that it gets. Handlers of the program still end the call.
static int wait_without_ticks(waiting *wait, const uint64_t *set, void *information,
                              const struct time *timeout) {
  before_wait(set);
  if (set == NULL || !has_timer() || !has_tick_handler()) return wait(set, information, timeout);
  // The C library's sigset_t, of which the kernel has the first word.
  uint64_t with_ticks[16] = {*set | (uint64_t)1 << (TICK - 1)};
  union any_information other;
  if (information == NULL) information = &other;
  struct time began = read_time(), rest;
  const struct time *left = timeout;
  for (;;) {
    int signal = wait(with_ticks, information, left);
    if (signal != TICK) return signal;
    count_signal(information);
    if (timeout == NULL) continue;
    rest = rest_of(timeout, began);
    left = &rest;
  }
}

// sigwait needs no function like the next two: it begins its call again after a tick.
EXPORTED int sigtimedwait(const uint64_t *set, void *information, const struct time *timeout) {
  NEXT("sigtimedwait", int, const uint64_t *, void *, const struct time *)
  if (next == NULL) return (int)with_errno(-ENOSYS);
  return wait_without_ticks(next, set, information, timeout);
}

// Without a timeout, sigtimedwait is sigwaitinfo (sigwaitinfo(2)).
EXPORTED int sigwaitinfo(const uint64_t *set, void *information) {
  NEXT("sigtimedwait", int, const uint64_t *, void *, const struct time *)
  if (next == NULL) return (int)with_errno(-ENOSYS);
  return wait_without_ticks(next, set, information, NULL);
}

EXPORTED int signalfd(int file, const uint64_t *set, int flags) {
  NEXT("signalfd", int, int, const uint64_t *, int)
  before_wait(set);
  return next == NULL ? (int)with_errno(-ENOSYS) : next(file, set, flags);
}

// A filter can end the program at the next system call, so the profile is written before.
EXPORTED int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  NEXT("prctl", int, int, unsigned long, unsigned long, unsigned long, unsigned long)
  int is_filter = option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS;
  if (is_filter && has_tick_handler() && is_own_process()) step_aside(FILTERS, 1);
  return next == NULL ? (int)with_errno(-ENOSYS) : next(option, a, b, c, d);
}

// Returns the real makecontext(3), the function that runs a coroutine on a stack of its own.
void *before_makecontext(const struct context *context) {
  NEXT("makecontext", void, void)
  if (context->stack_size < MIN_STACK && has_tick_handler()) step_aside(COROUTINES, 0);
  return (void *)next;
}

// makecontext has any number of arguments, which stay where they are. It has the version of glibc's
// function, since musl has none, and a program with musl must not find one either: musl ignores
// symbols of a version that is not the default (ldso/dynlink.c, gnu_lookup).
#if defined(__x86_64__)
__asm__(
    ".text\n.globl versioned_makecontext\n.type versioned_makecontext, @function\n"
    "versioned_makecontext:\n"
    ".cfi_startproc\n"
    "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\n"
    ".cfi_def_cfa_offset 64\n"
    "call before_makecontext\nmov %rax, %r11\n"
    "pop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"
    ".cfi_def_cfa_offset 8\n"
    "jmp *%r11\n"
    ".cfi_endproc\n.size versioned_makecontext, .-versioned_makecontext\n"
    ".symver versioned_makecontext, makecontext@GLIBC_2.2.5, remove\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.globl versioned_makecontext\n.type versioned_makecontext, %function\n"
    "versioned_makecontext:\n"
    ".cfi_startproc\n"
    "stp x29, x30, [sp, #-80]!\n.cfi_def_cfa_offset 80\n.cfi_offset 29, -80\n"
    ".cfi_offset 30, -72\n"
    "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\n"
    "stp x6, x7, [sp, #64]\n"
    "bl before_makecontext\nmov x9, x0\n"
    "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\n"
    "ldp x6, x7, [sp, #64]\nldp x29, x30, [sp], #80\n.cfi_def_cfa_offset 0\n"
    "br x9\n"
    ".cfi_endproc\n.size versioned_makecontext, .-versioned_makecontext\n"
    ".symver versioned_makecontext, makecontext@GLIBC_2.17, remove\n");
#endif

// The beginning of struct dl_phdr_info.
struct object {
  const void *address;
};

typedef int visitor(const struct object *object, size_t size, void *data);

struct iteration {
  visitor *visit;
  void *data;
};

// The beginning of this library in memory (ld(1)).
extern const char __ehdr_start __attribute__((visibility("hidden")));

static int visit_other(const struct object *object, size_t size, void *data) {
  const struct iteration *iteration = data;
  if (object->address == &__ehdr_start) return 0;
  return iteration->visit(object, size, iteration->data);
}

// AddressSanitizer ends a program whose first library is another (compiler-rt
// lib/asan/asan_linux.cpp, AsanCheckDynamicRTPrereqs), although this library replaces nothing that
// AddressSanitizer does. So a program that was built with it does not see this library.
EXPORTED int dl_iterate_phdr(visitor *visit, void *data) {
  NEXT("dl_iterate_phdr", int, visitor *, void *)
  if (next == NULL) return 0;
  if (__asan_init == NULL) return next(visit, data);
  struct iteration iteration = {visit, data};
  return next(visit_other, &iteration);
}
