// Programs that do what tools could disturb: tasks TASK [WORD]. The test runs each with and without
// the tools, and compares the output and the end. Nothing that they print differs between two runs.

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static volatile double sum;
static volatile int caught;
static sigjmp_buf escape;

// The first sample of a profile comes after half a second of processor time.
__attribute__((noinline)) static void burn(double seconds) {
  clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  while (clock() < end) {
    for (int i = 0; i < 20000; i++) sum += i;
  }
}

static void on_signal(int signal) { (void)signal, caught++; }
static void leave(int signal) { siglongjmp(escape, signal); }
static void at_end(void) { puts("at exit"); }

static int entries_of(const char *folder) {
  int count = 0;
  DIR *open = opendir(folder);
  while (open != NULL && readdir(open) != NULL) count++;
  if (open != NULL) closedir(open);
  return count;
}

// Counts what the process has: threads, open files, and the number of the next file.
static int count_own(void) {
  burn(0.7);
  printf("threads %d\n", entries_of("/proc/self/task") - 2);
  printf("open files %d\n", entries_of("/proc/self/fd") - 3);
  printf("next file %d\n", open("/dev/null", O_RDONLY));
  return 20;
}

// Closes all files that it did not open, and has files of its own under the same numbers.
static int replace_files(void) {
  int own = memfd_create("own", 0);
  int last = dup2(own, 200);
  for (int file = 3; file < 1000; file++) {
    if (file != last) close(file);
  }
  for (int file = 3; file < 1000; file++) {
    if (file != last) dup2(last, file);
  }
  burn(0.9);
  dprintf(5, "only this\n");
  char text[64] = "";
  ssize_t length = pread(7, text, sizeof text - 1, 0);
  printf("%zd bytes: %s", length, text);
  return 21;
}

static int change_root(const char *folder) {
  burn(0.7);
  if (chroot(folder) != 0 || chdir("/") != 0) return 1;
  burn(0.3);
  printf("entries %d, /proc %d\n", entries_of("/") - 2, access("/proc", F_OK));
  return 22;
}

static int start_others(void) {
  burn(0.7);
  int status;
  pid_t child = vfork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "echo vfork; exit 3", NULL);
    _exit(1);
  }
  fflush(stdout);
  waitpid(child, &status, 0);
  printf("vfork %d\n", WEXITSTATUS(status));
  fflush(stdout);
  char *words[] = {"sh", "-c", "echo spawned >&2; kill -TERM $$", NULL};
  posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ);
  waitpid(child, &status, 0);
  printf("posix_spawn %d\n", WTERMSIG(status));
  fflush(stdout);
  printf("system %d\n", WEXITSTATUS(system("exit 4")));
  char line[16] = "";
  FILE *pipe = popen("echo piped", "r");
  if (fgets(line, sizeof line, pipe) != NULL) printf("popen %s", line);
  printf("popen %d\n", pclose(pipe));
  printf("no more children %d\n", waitpid(-1, NULL, 0));
  return 23;
}

static int fork_children(void) {
  burn(0.6);
  for (int number = 1; number <= 2; number++) {
    int status;
    pid_t child = fork();
    if (child == 0) burn(0.6), exit(number);
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    fflush(stdout);
  }
  return 24;
}

static int signal_itself(void) {
  signal(SIGUSR1, on_signal);
  burn(1);
  raise(SIGUSR1);
  return caught + 4;
}

// Traces a program, as a debugger does, passes on its signals, and prints them.
static int trace(int all) {
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execl("/proc/self/exe", "tasks", "signal", NULL);
    _exit(1);
  }
  int status, urgent = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    int signal = WSTOPSIG(status);
    if (signal == SIGURG) urgent = 1;
    else printf("stopped by %d\n", signal);
    ptrace(PTRACE_CONT, child, NULL, (void *)(long)(signal == SIGTRAP ? 0 : signal));
  }
  if (all) printf("stopped by SIGURG: %d\n", urgent);
  printf("ended with %d\n", WEXITSTATUS(status));
  return 25;
}

__attribute__((noinline)) static int recurse(int depth) {
  volatile char used[4096];
  used[0] = (char)depth;
  return recurse(depth + 1) + used[0];
}

// Leaves the handler of a stack overflow, which runs on an alternate stack.
static int overflow(void) {
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = leave, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  burn(0.7);
  int signal = sigsetjmp(escape, 1);
  if (signal == 0) return recurse(0);
  burn(0.2);
  printf("left a handler of %d\n", signal);
  return 26;
}

static void fail(const char *way) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  puts("begins");
  fflush(stdout);
  burn(0.7);
  if (strcmp(way, "abort") == 0) abort();
  *(volatile int *)8 = 0;
}

// Uses the timer and the signal of other profilers.
static int own_timer(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGPROF, &action, NULL);
  struct itimerval often = {{0, 10000}, {0, 10000}}, old;
  setitimer(ITIMER_PROF, &often, &old);
  printf("before: %d\n", (int)(old.it_interval.tv_usec + old.it_value.tv_usec));
  burn(0.8);
  printf("ticks: %d\n", caught > 5);
  return 27;
}

static void at_cleanup(void *text) { puts(text); }

static void *wait_for_cancel(void *unused) {
  pthread_cleanup_push(at_cleanup, "cleanup");
  burn(0.7);
  for (;;) sleep(60);
  pthread_cleanup_pop(0);
  return unused;
}

static int cancel_thread(void) {
  atexit(at_end);
  pthread_t thread;
  void *result;
  pthread_create(&thread, NULL, wait_for_cancel, NULL);
  burn(0.7);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  printf("cancelled %d\n", result == PTHREAD_CANCELED);
  return 28;
}

#define ALLOW(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

// Sets a filter of system calls without prctl, for which it needs CAP_SYS_ADMIN.
static int filter_without_prctl(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_write),
      ALLOW(SYS_exit_group),
      ALLOW(SYS_clock_gettime),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  static char buffer[64];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) return 1;
  burn(1.2);
  puts("allowed");
  return 29;
}

static int become_daemon(void) {
  if (daemon(0, 1) != 0) return 1;
  burn(0.8);
  printf("daemon, process group %d\n", getpgrp() == getsid(0));
  return 0;
}

int main(int count, char **words) {
  const char *task = count > 1 ? words[1] : "", *word = count > 2 ? words[2] : "";
  if (strcmp(task, "burn") == 0) return burn(atof(word)), puts("burned"), 19;
  if (strcmp(task, "count") == 0) return count_own();
  if (strcmp(task, "files") == 0) return replace_files();
  if (strcmp(task, "chroot") == 0) return change_root(word);
  if (strcmp(task, "start") == 0) return start_others();
  if (strcmp(task, "fork") == 0) return fork_children();
  if (strcmp(task, "signal") == 0) return signal_itself();
  if (strcmp(task, "trace") == 0) return trace(strcmp(word, "all") == 0);
  if (strcmp(task, "overflow") == 0) return overflow();
  if (strcmp(task, "timer") == 0) return own_timer();
  if (strcmp(task, "cancel") == 0) return cancel_thread();
  if (strcmp(task, "filter") == 0) return filter_without_prctl();
  if (strcmp(task, "daemon") == 0) return become_daemon();
  fail(word);
  return 1;
}
