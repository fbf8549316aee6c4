// The timer of the profiler, its signal handler, and the walk of the stack.
//
// The kernel looks at a timer of processor time only at its own clock tick (CONFIG_HZ, often 250 a
// second), and a signal that is already pending is not sent again. So there are fewer signals than
// ticks as soon as more are due. The kernel says with each signal how many it has left out
// (si_overrun, timer_getoverrun(2)), and this file counts them.
//
// The profiler's handler needs about 8 KiB of stack, more than a coroutine may have. It runs on a
// stack of this library. The kernel still needs room on the stack of the program for the registers
// of the processor: about 4 KiB with AVX-512 (signal(7), getauxval(3), AT_MINSIGSTKSZ).

#include "ticks.h"

extern WEAK int sigaction(int signal, const struct action *action, struct action *old);

enum {
  SI_USER = 0,
  SI_TIMER = -2,
  SI_TKILL = -6,
  SA_SIGINFO = 4,
  SA_RESTART = 0x10000000,
  SIG_BLOCK = 0,
  SIG_UNBLOCK = 1,
  // The frames between the walk of the stack and the interrupted function, which the profiler
  // skips (gperftools src/stacktrace_libunwind-inl.h and src/profiler.cc, prof_handler). Here, the
  // walk begins at the interrupted function.
  SKIPPED = 5,
};

// The processor time of a program before the first sample, in nanoseconds.
#define DELAY 500000000
#define SECOND 1000000000
#define SIG_IGN ((void *)1)
// A thread that has used less processor time than this since its last signal, twice in a row, was
// waiting: it used the time for the signal itself.
#define MIN_USED 100000
// The signals to waiting threads after which the profiler stops, if they are most of all signals.
#define MAX_IDLE 20
#define STACK 65536
// The names of the functions that replace libunwind's must have the same lengths as those.
#if defined(__aarch64__)
#define rl_unwind_init rl_unwinds_init_local
#define rl_unwind_step rl_unwinds_step
#else
#define rl_unwind_init rl_unwind_init_local
#endif
#define TICK_SET ((uint64_t)1 << (TICK - 1))

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

// The kernel's struct sigaction.
struct kernel_action {
  void *handler;
  uint64_t flags;
#if defined(__x86_64__)
  void *restorer;
#endif
  uint64_t mask;
};

typedef void sample_function(int signal, struct information *information, void *context);

static struct {
  sample_function *take_sample;
  struct unwinder unwinder;
  // The request for stacks that a thread answers.
  uint64_t request;
  // What the interrupted thread did, while a sample is taken.
  void *context;
  int to_skip;
  // Whether a thread takes a sample.
  int is_busy;
  int32_t timer;
  int has_timer;
  // Whether the signal was blocked before the profiler blocked it, and whether the profiler wants
  // it blocked, but it is not.
  int was_blocked;
  int is_held;
  uint64_t ticks;
  // The signals, and those that reached a thread that waited.
  uint64_t signals;
  uint64_t idle;
  // The nanoseconds between two ticks, and the processor time at which the first is due.
  int64_t interval;
  int64_t first;
} ticks;

static char stack[STACK] __attribute__((aligned(64)));

// Calls a function with three arguments on another stack.
extern void call_on(void *end_of_stack, sample_function *function, int signal,
                    struct information *information, void *context)
    __attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(
    ".text\n.hidden call_on\n.globl call_on\n.type call_on, @function\ncall_on:\n"
    ".cfi_startproc\n"
    "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset rbp, -16\n"
    "mov %rsp, %rbp\n.cfi_def_cfa_register rbp\n"
    "mov %rdi, %rsp\nmov %rsi, %rax\nmov %edx, %edi\nmov %rcx, %rsi\nmov %r8, %rdx\n"
    "call *%rax\n"
    "mov %rbp, %rsp\npop %rbp\n.cfi_def_cfa rsp, 8\nret\n"
    ".cfi_endproc\n.size call_on, .-call_on\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.hidden call_on\n.globl call_on\n.type call_on, %function\ncall_on:\n"
    ".cfi_startproc\n"
    "stp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset 29, -16\n"
    ".cfi_offset 30, -8\n"
    "mov x29, sp\n.cfi_def_cfa_register 29\n"
    "mov sp, x0\nmov x9, x1\nmov w0, w2\nmov x1, x3\nmov x2, x4\n"
    "blr x9\n"
    "mov sp, x29\nldp x29, x30, [sp], #16\n.cfi_def_cfa sp, 0\nret\n"
    ".cfi_endproc\n.size call_on, .-call_on\n");
#endif

static int64_t read_clock(int clock) {
  int64_t now[2] = {0};
  call(SYS_clock_gettime, clock, (long)now, 0, 0);
  return now[0] * SECOND + now[1];
}

uint64_t nanoseconds_since_boot(void) { return (uint64_t)read_clock(CLOCK_BOOTTIME); }

// Whether the signal has reached a thread that waits instead of the one that used the processor
// time. The kernel sends it to any thread if the one that runs blocks it, and before Linux 6.4
// always to the first thread (kernel/signal.c, send_sigqueue and complete_signal). A sample would
// be of the wrong function, and calls such as poll fail with EINTR.
static int is_waiting_thread(void) {
  static __thread int64_t last __attribute__((tls_model("initial-exec")));
  static __thread int small __attribute__((tls_model("initial-exec")));
  int64_t now = read_clock(CLOCK_THREAD_CPUTIME_ID);
  small = now - last < MIN_USED ? small + 1 : 0;
  last = now;
  uint64_t signals = __atomic_add_fetch(&ticks.signals, 1, __ATOMIC_RELAXED);
  if (small < 2) return 0;
  uint64_t idle = __atomic_add_fetch(&ticks.idle, 1, __ATOMIC_RELAXED);
  if (idle >= MAX_IDLE && idle > signals / 2) {
    step_aside("its signals reach threads that wait, because the others block SIGURG", 0);
  }
  return 1;
}

static void answer(int signal, struct information *information, void *context) {
  (void)signal, (void)information;
  answer_stack_request(ticks.request, &ticks.unwinder, context, (uint64_t)(uintptr_t)&ticks);
}

// Writes the stack of this thread if the observer wants it. Does nothing while another thread walks
// its stack: waiting for it could last forever, because that thread may wait for a lock of the
// dynamic linker that this thread has. The next tick, or the next signal of the observer, tries
// again.
static void answer_if_asked(int signal, struct information *information, void *context) {
  uint64_t request = find_stack_request();
  if (request == 0 || __atomic_exchange_n(&ticks.is_busy, 1, __ATOMIC_ACQUIRE)) return;
  int before = get_errno();
  ticks.request = request;
  call_on(stack + STACK, answer, signal, information, context);
  set_errno(before);
  __atomic_store_n(&ticks.is_busy, 0, __ATOMIC_RELEASE);
}

static void take_sample(int signal, struct information *information, void *context) {
  if (__atomic_load_n(&ticks.is_held, __ATOMIC_SEQ_CST)) return;
  if (__atomic_exchange_n(&ticks.is_busy, 1, __ATOMIC_ACQUIRE)) return;
  ticks.context = context;
  call_on(stack + STACK, ticks.take_sample, signal, information, context);
  ticks.context = NULL;
  __atomic_store_n(&ticks.is_busy, 0, __ATOMIC_RELEASE);
}

int has_timer(void) { return ticks.has_timer; }

int count_signal(const struct information *information) {
  int is_timer = information->code == SI_TIMER && information->value == (uint64_t)(uintptr_t)&ticks;
  if (!is_timer) return 0;
  uint64_t count = 1 + (uint64_t)(information->overruns < 0 ? 0 : information->overruns);
  __atomic_fetch_add(&ticks.ticks, count, __ATOMIC_RELAXED);
  return 1;
}

// The handler of the signal. Anyone can send it, but only the timer of this library has this value
// and code. The observer sends it with pidfd_send_signal(2) or kill(2), to a thread whose stack it
// wants. If a thread already takes a sample, the tick of another thread is only counted.
static void tick(int signal, struct information *information, void *context) {
  if (information->code == SI_USER || information->code == SI_TKILL) {
    answer_if_asked(signal, information, context);
    return;
  }
  if (!count_signal(information)) return;
  if (!is_waiting_thread()) take_sample(signal, information, context);
  answer_if_asked(signal, information, context);
}

// The handler of the signal in this process: NULL for the default action, and 1 if it is ignored.
static void *tick_handler(void) {
  struct kernel_action now = {0};
  call(SYS_rt_sigaction, TICK, 0, (long)&now, sizeof now.mask);
  return now.handler;
}

int is_tick_ignored(void) { return tick_handler() == SIG_IGN; }

int has_tick_handler(void) {
  return ticks.take_sample != NULL && tick_handler() == (void *)tick;
}

uint64_t count_ticks(void) { return ticks.ticks; }

uint64_t count_due_ticks(void) {
  int64_t past = read_clock(CLOCK_PROCESS_CPUTIME_ID) - ticks.first;
  return past < 0 || ticks.interval <= 0 ? 0 : 1 + (uint64_t)(past / ticks.interval);
}

static void delete_timer(void) {
  if (ticks.has_timer) call(SYS_timer_delete, ticks.timer, 0, 0, 0);
  ticks.has_timer = 0;
}

// The default action also discards a tick that is pending, because it is to ignore the signal
// (kernel/signal.c, do_sigaction).
void stop_ticks(void) {
  struct kernel_action none = {0};
  if (is_own_process()) delete_timer();
  if (has_tick_handler()) call(SYS_rt_sigaction, TICK, (long)&none, 0, sizeof none.mask);
}

// The profiler sets its handler for SIGPROF. All other signals are blocked while it runs, so that
// no handler of the program runs on its stack.
EXPORTED int rl_sigact(int signal, const struct action *action, struct action *old) {
  if (signal != SIGPROF) return sigaction(signal, action, old);
  if (action == NULL) {
    *old = (struct action){0};
    return 0;
  }
  int (*set)(int, const struct action *, struct action *);
  set = (int (*)(int, const struct action *, struct action *))next_function("sigaction");
  if (set == NULL) return (int)with_errno(-ENOSYS);
  struct action own = {.handler = (void *)tick, .flags = SA_RESTART | SA_SIGINFO};
  for (size_t i = 0; i < sizeof own.mask / sizeof *own.mask; i++) own.mask[i] = ~(uint64_t)0;
  ticks.take_sample = (sample_function *)action->handler;
  return set(TICK, &own, old);
}

// The profiler blocks its own signal while it holds a lock that its handler needs. If the program
// has blocked the signal, it stays blocked. Without a sample, no system call is made at the end of
// a program, because a filter (seccomp(2)) might forbid it, and nor is one made in a forked child:
// then the handler takes no sample meanwhile.
EXPORTED int rl_sigprocm(int how, const void *set, void *old) {
  (void)set, (void)old;
  uint64_t tick_set = TICK_SET, before = 0;
  if (how == SIG_BLOCK && ticks.first > 0 && (ticks.ticks == 0 || !is_own_process())) {
    __atomic_store_n(&ticks.is_held, 1, __ATOMIC_SEQ_CST);
    return 0;
  }
  if (how == SIG_UNBLOCK) {
    int is_blocked = !ticks.is_held && !ticks.was_blocked;
    __atomic_store_n(&ticks.is_held, 0, __ATOMIC_SEQ_CST);
    if (!is_blocked) return 0;
  }
  long result = call(SYS_rt_sigprocmask, how, (long)&tick_set, (long)&before, sizeof tick_set);
  if (how == SIG_BLOCK) ticks.was_blocked = (before & TICK_SET) != 0;
  return (int)with_errno(result);
}

// Sets a timer of the processor time of the process. `timer` is a struct itimerval. The first
// signal comes after DELAY, so that programs such as shells, launchers and the first process of a
// container usually get none.
EXPORTED int rl_settim(int which, const struct interval timer[2], void *old) {
  (void)which, (void)old;
  int is_end = timer[0].seconds == 0 && timer[0].microseconds == 0;
  if (is_end && ticks.ticks == 0) return 0;
  if (!is_own_process()) return 0;
  delete_timer();
  if (is_end) return 0;
  struct event event = {.value = (uint64_t)(uintptr_t)&ticks, .signal = TICK};
  long made = call(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, (long)&event, (long)&ticks.timer, 0);
  if (made < 0) return (int)with_errno(made);
  ticks.has_timer = 1;
  ticks.interval = timer[0].seconds * SECOND + timer[0].microseconds * 1000;
  ticks.first = read_clock(CLOCK_PROCESS_CPUTIME_ID) + DELAY;
  int64_t times[4] = {timer[0].seconds, timer[0].microseconds * 1000};
  times[3] = DELAY;
  return (int)with_errno(call(SYS_timer_settime, ticks.timer, 0, (long)times, 0));
}

void set_unwinder(struct unwinder unwinder) { ticks.unwinder = unwinder; }

// libunwind's unw_init_local: begins a walk of the stack. In the handler, the walk begins at the
// interrupted function, because the handler is on another stack. The profiler also walks its own
// stack while it is loaded, to find out whether libunwind works.
EXPORTED int rl_unwind_init(void *cursor, void *context) {
  if (ticks.context == NULL) return ticks.unwinder.init_local2(cursor, context, 0);
  ticks.to_skip = SKIPPED;
  return ticks.unwinder.init_local2(cursor, ticks.context, UNW_INIT_SIGNAL_FRAME);
}

// libunwind's unw_step: returns a positive number if there is a caller.
EXPORTED int rl_unwind_step(void *cursor) {
  if (ticks.to_skip == 0) return ticks.unwinder.step(cursor);
  ticks.to_skip--;
  return 1;
}
