// Leaves calls of MPI in the way that the first argument names, and then makes 100 calls of
// MPI_Barrier and 10 of MPI_Sendrecv, deeper in the stack:
//   throw    an error handler throws an exception
//   jump     an error handler calls longjmp
//   context  an error handler calls setcontext
//   thread   an error handler throws, and another one jumps, in four threads
//   nested   a reduction calls MPI, and an error handler throws an exception that the reduction
//            catches
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include <stdexcept>

static thread_local jmp_buf place;
static ucontext_t context;
static volatile int times;

static void raise_exception(MPI_Comm *, int *, ...) { throw std::runtime_error("left"); }
static void jump(MPI_Comm *, int *, ...) { longjmp(place, 1); }
static void switch_context(MPI_Comm *, int *, ...) { setcontext(&context); }

static void set_handler(MPI_Comm communicator, MPI_Comm_errhandler_function *function) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(function, &handler);
  MPI_Comm_set_errhandler(communicator, handler);
}

// The rank does not exist.
static void fail(MPI_Comm communicator) {
  int data = 0;
  MPI_Sendrecv(&data, 1, MPI_INT, 1000, 0, &data, 1, MPI_INT, 1000, 0, communicator, MPI_STATUS_IGNORE);
}

static __attribute__((noinline)) void leave_by_exception(MPI_Comm communicator) {
  try {
    fail(communicator);
  } catch (const std::runtime_error &) {
    times = times + 1;
  }
}

static __attribute__((noinline)) void leave_by_jump(MPI_Comm communicator) {
  if (setjmp(place) == 0) fail(communicator);
  times = times + 1;
}

static __attribute__((noinline)) void go_on(MPI_Comm communicator, int calls) {
  volatile char unused[4096];
  int data = 0, other;
  unused[0] = 0;
  for (int call = 0; call < calls; call++) MPI_Barrier(communicator);
  for (int call = 0; call < 10; call++) {
    MPI_Sendrecv(&data, 1, MPI_INT, 0, 0, &other, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  }
}

static void *use_thread(void *argument) {
  MPI_Comm *own = (MPI_Comm *)argument;
  leave_by_exception(own[0]);
  leave_by_jump(own[1]);
  go_on(own[0], 25);
  return NULL;
}

static void use_threads() {
  pthread_t threads[4];
  MPI_Comm own[4][2];
  for (int at = 0; at < 4; at++) {
    MPI_Comm_dup(MPI_COMM_SELF, &own[at][0]);
    MPI_Comm_dup(MPI_COMM_SELF, &own[at][1]);
    set_handler(own[at][0], raise_exception);
    set_handler(own[at][1], jump);
    pthread_create(&threads[at], NULL, use_thread, own[at]);
  }
  for (int at = 0; at < 4; at++) pthread_join(threads[at], NULL);
}

static void reduce(void *in, void *inout, int *count, MPI_Datatype *) {
  for (int at = 0; at < *count; at++) ((int *)inout)[at] += ((int *)in)[at];
  leave_by_exception(MPI_COMM_SELF);
}

static void reduce_in_calls() {
  int data = 1, sum;
  MPI_Op operation;
  set_handler(MPI_COMM_SELF, raise_exception);
  MPI_Op_create(reduce, 1, &operation);
  for (int call = 0; call < 10; call++) {
    MPI_Allreduce(&data, &sum, 1, MPI_INT, operation, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  int provided;
  if (strcmp(mode, "thread") == 0) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else MPI_Init(&argc, &argv);
  if (strcmp(mode, "throw") == 0) {
    set_handler(MPI_COMM_WORLD, raise_exception);
    leave_by_exception(MPI_COMM_WORLD);
  }
  if (strcmp(mode, "jump") == 0) {
    set_handler(MPI_COMM_WORLD, jump);
    leave_by_jump(MPI_COMM_WORLD);
  }
  if (strcmp(mode, "context") == 0) {
    set_handler(MPI_COMM_WORLD, switch_context);
    getcontext(&context);
    if (times++ == 0) fail(MPI_COMM_WORLD);
  }
  if (strcmp(mode, "thread") == 0) use_threads();
  if (strcmp(mode, "nested") == 0) reduce_in_calls();
  go_on(MPI_COMM_WORLD, 100);
  printf("left %d\n", times);
  fflush(stdout);
  MPI_Finalize();
}
