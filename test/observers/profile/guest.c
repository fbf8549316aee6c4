// Programs that would notice the profiler: guest TASK [NUMBER]. The tests run each with and without
// the profiler, and compare the output and the exit code.

#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile double sum;
static volatile int caught;

__attribute__((noinline)) static void burn(double seconds) {
  clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  while (clock() < end) {
    for (int i = 0; i < 20000; i++) sum += i;
  }
}

static void *burn_in_thread(void *seconds) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  burn(*(double *)seconds);
  return NULL;
}

static void *burn_and_alarm(void *seconds) {
  burn_in_thread(seconds);
  kill(getpid(), SIGALRM);
  return NULL;
}

static void on_signal(int signal) { caught += signal == SIGURG; }

static const char *action_of(int signal) {
  struct sigaction old;
  if (sigaction(signal, NULL, &old) != 0) return "invalid";
  if (old.sa_handler == SIG_DFL) return "default";
  if (old.sa_handler == SIG_IGN) return "ignored";
  return old.sa_handler == on_signal ? "own" : "foreign";
}

// Sets a handler after some processor time, and gets only the signals that it sends itself.
static int handle(const char *way) {
  burn(0.7);
  printf("before: %s\n", action_of(SIGURG));
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
  if (strcmp(way, "sigaction") == 0) {
    sigaction(SIGURG, &action, &old);
    printf("replaced: %s\n", old.sa_handler == SIG_DFL && old.sa_flags == 0 ? "default" : "other");
  } else if (strcmp(way, "ignore") == 0) {
    printf("replaced: %d\n", signal(SIGURG, SIG_IGN) == SIG_DFL);
  } else {
    printf("replaced: %d\n", signal(SIGURG, on_signal) == SIG_DFL);
  }
  for (int i = 0; i < 3; i++) burn(0.2), raise(SIGURG);
  printf("after: %s, caught %d\n", action_of(SIGURG), caught);
  fflush(stdout);
  if (fork() == 0) {
    execlp("sh", "sh", "-c", "grep SigIgn /proc/self/status", NULL);
    _exit(1);
  }
  wait(NULL);
  printf("reset: %d\n", signal(SIGURG, SIG_DFL) == SIG_DFL);
  burn(0.2);
  raise(SIGURG);
  return 10;
}

// Waits for any signal while another thread uses processor time.
static int wait_for(const char *way) {
  double seconds = 1.2;
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, burn_and_alarm, &seconds);
  int got = 0;
  if (strcmp(way, "sigwait") == 0) {
    sigwait(&all, &got);
  } else if (strcmp(way, "sigwaitinfo") == 0) {
    got = sigwaitinfo(&all, NULL);
  } else if (strcmp(way, "sigtimedwait") == 0) {
    struct timespec time = {.tv_sec = 60};
    got = sigtimedwait(&all, NULL, &time);
  } else {
    struct signalfd_siginfo information;
    int file = signalfd(-1, &all, 0);
    if (read(file, &information, sizeof information) > 0) got = (int)information.ssi_signo;
  }
  printf("got %s\n", got == SIGALRM ? "the alarm" : strsignal(got));
  pthread_join(thread, NULL);
  return 11;
}

enum { WAITERS = 4, WAITS = 100000 };
static volatile int is_over;
static long waits, interrupted_waits;

static void *burn_until_over(void *unused) {
  for (volatile long i = 0; !is_over; i++) continue;
  return unused;
}

// Waits again and again, as briefly as possible: each time, a tick may just be pending.
static void *wait_briefly(void *set) {
  struct timespec brief = {0, 20000};
  while (__atomic_add_fetch(&waits, 1, __ATOMIC_RELAXED) < WAITS) {
    int error = sigtimedwait(set, NULL, &brief) < 0 ? errno : 0;
    if (error == EINTR) __atomic_add_fetch(&interrupted_waits, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Waits in many ways for signals that are not the profiler's, while other threads compute.
static int wait_for_others(void) {
  pthread_t burners[2], waiters[WAITERS];
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  for (int i = 0; i < 2; i++) pthread_create(&burners[i], NULL, burn_until_over, NULL);
  for (int i = 0; i < WAITERS; i++) pthread_create(&waiters[i], NULL, wait_briefly, &set);
  for (int i = 0; i < WAITERS; i++) pthread_join(waiters[i], NULL);
  printf("interrupted %ld\n", interrupted_waits);
  struct timespec half = {0, 500000000}, wrong = {0, -1};
  double began = seconds_now();
  int error = sigtimedwait(&set, NULL, &half) < 0 ? errno : 0;
  printf("%s after %s\n", strerror(error), seconds_now() - began < 0.5 ? "less" : "half a second");
  siginfo_t information = {0};
  sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 42});
  int got = sigwaitinfo(&set, &information);
  printf("%s %d\n", strsignal(got), information.si_value.sival_int);
  printf("%s\n", sigtimedwait(&set, NULL, &wrong) < 0 ? strerror(errno) : "valid");
  signal(SIGALRM, on_signal);
  alarm(1);
  printf("%s\n", sigwaitinfo(&set, NULL) < 0 ? strerror(errno) : "got it");
  is_over = 1;
  for (int i = 0; i < 2; i++) pthread_join(burners[i], NULL);
  return 20;
}

// Prints everything about signals that a program can ask for.
static int query(void) {
  burn(0.7);
  for (int signal = 1; signal < NSIG; signal++) {
    if (strcmp(action_of(signal), "default") != 0) printf("%d %s\n", signal, action_of(signal));
  }
  sigset_t mask, pending;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  sigpending(&pending);
  for (int signal = 1; signal < NSIG; signal++) {
    if (sigismember(&mask, signal) > 0) printf("%d blocked\n", signal);
    if (sigismember(&pending, signal) > 0) printf("%d pending\n", signal);
  }
  stack_t stack;
  sigaltstack(NULL, &stack);
  printf("alternate stack: %d\n", (stack.ss_flags & SS_DISABLE) == 0);
  return 12;
}

#define ALLOW(number)                                        \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),         \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

// Allows itself only what it needs to use processor time, to print and to end.
static int restrict_calls(const char *way, double seconds) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_clock_gettime),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  static char buffer[64];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  burn(strcmp(way, "late") == 0 ? 0.8 : 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  int failed = strcmp(way, "syscall") == 0
                   ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0
                   : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
  if (failed) return 1;
  burn(seconds);
  puts("allowed");
  return 13;
}

static ucontext_t whole, part;

static void run_coroutine(int one, int two) {
  burn(0.3);
  printf("coroutine %d %d\n", one, two);
  fflush(stdout);
  burn(0.9);
}

static int run_on_small_stack(size_t size) {
  char *stack = malloc(size);
  static char buffer[64];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  getcontext(&part);
  part.uc_stack.ss_sp = stack;
  part.uc_stack.ss_size = size;
  part.uc_link = &whole;
  makecontext(&part, (void (*)(void))run_coroutine, 2, 6, 7);
  if (swapcontext(&whole, &part) != 0) return 1;
  return 14;
}

// A thread whose stack has room for the registers, but not for the profiler.
static void *burn_on_small_stack(void *data) {
  volatile char used[5 * 1024];
  memset((void *)used, 1, sizeof used);
  burn(0.9);
  return used[7] == 1 ? data : NULL;
}

static int run_small_thread(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, burn_on_small_stack, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  return 19;
}

int main(int count, char **words) {
  const char *task = count > 1 ? words[1] : "", *way = count > 2 ? words[2] : "";
  double number = count > 3 ? atof(words[3]) : 0;
  if (strcmp(task, "handle") == 0) return handle(way);
  if (strcmp(task, "wait-for") == 0) return wait_for(way);
  if (strcmp(task, "wait-for-others") == 0) return wait_for_others();
  if (strcmp(task, "query") == 0) return query();
  if (strcmp(task, "restrict") == 0) return restrict_calls(way, number);
  if (strcmp(task, "coroutine") == 0) return run_on_small_stack((size_t)atoi(way));
  if (strcmp(task, "thread") == 0) return run_small_thread();
  // Blocks the signal in all threads for most of the time.
  if (strcmp(task, "block") == 0) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    burn(0.8);
    sigprocmask(SIG_BLOCK, &set, NULL);
    burn(2.5);
    return 15;
  }
  // Waits in the first thread while another, which blocks all signals, uses the processor.
  if (strcmp(task, "idle") == 0) {
    double seconds = 2.5;
    pthread_t thread;
    pthread_create(&thread, NULL, burn_in_thread, &seconds);
    int interrupted = 0;
    while (pthread_tryjoin_np(thread, NULL) == EBUSY) interrupted += poll(NULL, 0, 100) < 0;
    printf("interrupted %d\n", interrupted);
    return 18;
  }
  // Sends itself signals that are no ticks.
  if (strcmp(task, "forwarded") == 0) {
    for (int i = 0; i < 500; i++) kill(getpid(), SIGURG);
    burn(0.6);
    for (int i = 0; i < 500; i++) kill(getpid(), SIGURG);
    return 16;
  }
  // A child of a launcher that forwards signals.
  if (strcmp(task, "child") == 0) {
    for (int i = 0; i < 20; i++) poll(NULL, 0, 100);
    puts("child finished");
    return 17;
  }
  return 1;
}
