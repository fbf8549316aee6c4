// Programs whose stacks are requested: stacks TASK FILE. Each task ends when FILE exists.

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOT_INLINED __attribute__((noinline, noclone))

static const char *end_file;
static volatile int is_over;
static volatile long work;
static sem_t posted;
static int ends[2];

static int has_end(void) { return is_over || access(end_file, F_OK) == 0; }

// Posts, writes, and ends the child when the file exists, so that the main thread returns from the
// call in which it sleeps.
static void *wake_at_end(void *child) {
  while (access(end_file, F_OK) != 0) usleep(10000);
  is_over = 1;
  sem_post(&posted);
  if (write(ends[1], "x", 1) != 1) abort();
  if (*(pid_t *)child > 0) kill(*(pid_t *)child, SIGKILL);
  return NULL;
}

NOT_INLINED static void exchange(void) {
  while (!has_end()) {
    for (int i = 0; i < 1000000; i++) work++;
  }
}

NOT_INLINED static void read_input(void) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) printf("read: %s\n", strerror(errno));
}

NOT_INLINED static void wait_for_post(void) {
  if (sem_wait(&posted) != 0) printf("sem_wait: %s\n", strerror(errno));
}

NOT_INLINED static void wait_for_child(pid_t child) {
  if (waitpid(child, NULL, 0) != child) printf("waitpid: %s\n", strerror(errno));
}

NOT_INLINED static void poll_input(void) {
  struct pollfd file = {ends[0], POLLIN, 0};
  if (poll(&file, 1, -1) != 1) printf("poll: %s\n", strerror(errno));
}

NOT_INLINED static int recurse(int depth) {
  if (depth == 0) exchange();
  else recurse(depth - 1);
  return (int)work;
}

// Most of the time, this thread has the lock of malloc: sizes above those that it caches.
NOT_INLINED static void allocate(void) {
  void *kept[64] = {NULL};
  for (unsigned i = 0; !has_end();) {
    for (int j = 0; j < 100000; j++, i++) {
      free(kept[i % 64]);
      kept[i % 64] = malloc(2000 + i * 7919 % 30000);
    }
  }
  for (int i = 0; i < 64; i++) free(kept[i]);
}

NOT_INLINED static void run(const char *task) {
  pid_t child = 0;
  pthread_t waker;
  if (pipe(ends) != 0 || sem_init(&posted, 0, 0) != 0) abort();
  if (strcmp(task, "wait") == 0 && (child = fork()) == 0) for (;;) pause();
  pthread_create(&waker, NULL, wake_at_end, &child);
  if (strcmp(task, "exchange") == 0) exchange();
  if (strcmp(task, "read") == 0) read_input();
  if (strcmp(task, "futex") == 0) wait_for_post();
  if (strcmp(task, "wait") == 0) wait_for_child(child);
  if (strcmp(task, "poll") == 0) poll_input();
  if (strcmp(task, "recurse") == 0) recurse(1000);
  if (strcmp(task, "allocate") == 0) allocate();
  pthread_join(waker, NULL);
}

enum { CALLS = 6 };
static long made[CALLS], interrupted[CALLS];

static void count(int call, int result) {
  made[call]++;
  if (result < 0 && errno == EINTR) interrupted[call]++;
}

// Sleeps for a millisecond at a time, in calls that a signal ends.
static void *sleep_in(void *which) {
  int call = (int)(long)which;
  int epoll = epoll_create1(0), set = semget(IPC_PRIVATE, 1, 0600);
  struct timespec time = {0, 1000000};
  while (!has_end()) {
    struct timeval interval = {0, 1000};
    struct epoll_event event;
    struct sembuf take = {0, -1, 0};
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    if (call == 0) count(call, poll(NULL, 0, 1));
    if (call == 1) count(call, epoll_wait(epoll, &event, 1, 1));
    if (call == 2) count(call, select(0, NULL, NULL, NULL, &interval));
    if (call == 3) count(call, nanosleep(&time, NULL));
    if (call == 4) count(call, semtimedop(set, &take, 1, &time));
    if (call == 5) count(call, sigtimedwait(&signals, NULL, &time));
  }
  semctl(set, 0, IPC_RMID);
  return NULL;
}

// Counts the calls that a signal has ended, while other threads compute and allocate.
static void count_interruptions(void) {
  static const char *const names[CALLS] = {"poll",      "epoll_wait", "select",
                                           "nanosleep", "semop",      "sigtimedwait"};
  pthread_t threads[CALLS], worker;
  pthread_create(&worker, NULL, (void *(*)(void *))(void *)allocate, NULL);
  for (long i = 0; i < CALLS; i++) pthread_create(&threads[i], NULL, sleep_in, (void *)i);
  for (int i = 0; i < CALLS; i++) pthread_join(threads[i], NULL);
  pthread_join(worker, NULL);
  for (int i = 0; i < CALLS; i++) {
    printf("%s: %s, %ld interrupted\n", names[i], made[i] > 100 ? "called" : "rare", interrupted[i]);
  }
}

int main(int count, char **words) {
  if (count != 3) return 2;
  end_file = words[2];
  if (strcmp(words[1], "count") == 0) count_interruptions();
  else run(words[1]);
  printf("done\n");
  return 7;
}
