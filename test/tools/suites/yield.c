// Lets a process that waits for a message sleep, so that a job can have more processes than the
// machine has processors. MPICH 4.0 over UCX waits in a loop that never yields
// (src/mpid/ch4/netmod/ucx/ucx_progress.h), and calls this function in it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

#define MAX_IDLE 200

unsigned ucp_worker_progress(void *worker) {
  static unsigned (*next)(void *);
  static __thread unsigned idle;
  if (next == NULL) next = dlsym(RTLD_NEXT, "ucp_worker_progress");
  unsigned events = next(worker);
  idle = events == 0 ? idle + 1 : 0;
  if (idle > MAX_IDLE) nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
  return events;
}
