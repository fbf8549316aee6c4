// Ends as its threads end, and not with exit: ends WAY. With the way `block`, it does not end. With
// -DPYTHON, the program has the symbols of an interpreter of Python 3.12 that runs without threads.

#define _GNU_SOURCE

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef PYTHON
static long interpreter[64];
long _PyRuntime[128] = {[5] = (long)interpreter}, PyCode_Type[1], PyUnicode_Type[1];
const unsigned long Py_Version = 0x030c0000;
#endif

static pthread_t first;
static const char *way;

static int is_way(const char *name) { return strcmp(way, name) == 0; }

static void say_end(void) { printf("atexit in thread %s\n", gettid() == getpid() ? "1" : "2"); }

static void *work(void *argument) {
  usleep(200000);
  if (is_way("cancel")) pthread_cancel(first);
  usleep(200000);
  printf("worked\n");
  if (is_way("block")) pause();
  if (is_way("exit")) pthread_exit(argument);
  return argument;
}

static void begin_work(void *argument) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, argument);
}

// The child begins with this thread, and ends with the one that it makes.
static void *fork_here(void *argument) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) usleep(200000), begin_work(argument);
  else waitpid(child, &status, 0), printf("child %d\n", status);
  return argument;
}

int main(int count, char **words) {
  way = count > 1 ? words[1] : "";
  first = pthread_self();
  atexit(say_end);
  // Tools are at work.
  usleep(200000);
  if (is_way("fork")) {
    pthread_t thread;
    pthread_create(&thread, NULL, fork_here, NULL);
    pthread_join(thread, NULL);
    return 5;
  }
  if (is_way("destructor")) {
    pthread_key_t key;
    pthread_key_create(&key, begin_work);
    pthread_setspecific(key, &first);
  } else if (!is_way("alone")) {
    begin_work(NULL);
  }
  if (is_way("cancel")) pause();
  if (is_way("kernel")) syscall(SYS_exit, 3);
  pthread_exit(NULL);
}
