// The thread of the sampler: its beginning, its pauses, and forked processes.
//
// The process must not notice the thread:
//
// - It blocks all signals, except those with which the C library reaches all threads (setuid(2)).
// - It has its own table of open files (close_range(2)). Otherwise the program could get another
//   number for a file that it opens than without the thread.
// - From 3.12 on, CPython counts the threads of the operating system after os.fork(), and warns if
//   there are several (Modules/posixmodule.c, warn_about_fork_with_threads). So the thread ends
//   before a fork, and begins again when the parent runs Python after it.
// - It does not keep the process alive. The C library ends the process with exit(0) when the last
//   thread that it knows ends (glibc nptl/pthread_create.c, start_thread; musl
//   src/thread/pthread_create.c, __pthread_exit), and the kernel ends it when no thread is left. So
//   the thread ends with the main thread, after which the kernel lets nobody read the memory; see
//   read.h. A destructor of the main thread ends it before the C library counts the threads. If the
//   main thread ends by a system call of its own, the next read fails. The C library must know the
//   thread: it changes the user of all threads that it knows (setuid(2)).

#pragma once

#include "../preload/program.h"
#include "sampler.h"

// A test sets other limits for its samples.
#ifndef MAX_COST_FACTOR
#define MAX_COST_FACTOR 45
#define MAX_FREQUENCY 1000
#endif
#define SECOND 1000000000u
#define DEFAULT_FREQUENCY 100
#define STACK_SIZE (256 * 1024)
// glibc's and musl's pthread_attr_t have at most 64 bytes.
#define ATTRIBUTES 16

enum {
  SIG_SETMASK = 2,
  PR_SET_NAME = 15,
  CLOSE_RANGE_UNSHARE = 2,
  FUTEX_WAIT_PRIVATE = 128,
  FUTEX_WAKE_PRIVATE = 129,
};

extern WEAK char *getenv(const char *name);
extern WEAK int pthread_create(uint64_t *thread, const void *attributes, void *(*run)(void *),
                               void *argument);
extern WEAK int pthread_join(uint64_t thread, void **result);
extern WEAK int pthread_key_create(uint32_t *key, void (*destructor)(void *));
extern WEAK int pthread_setspecific(uint32_t key, const void *value);
extern WEAK int pthread_attr_init(uint64_t *attributes);
extern WEAK int pthread_attr_setstacksize(uint64_t *attributes, size_t size);
// musl has the first of these, and glibc, in which programs are linked with a part of it, the second.
extern WEAK int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
extern WEAK int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                                  void *library);

static struct {
  uint64_t thread;
  uint32_t number;
  int is_running, should_stop, lock;
  // The value of the main thread, whose destructor ends the thread of the sampler for ever.
  uint32_t key;
  int is_over;
  // The nanoseconds between two looks.
  uint64_t interval;
  // The memory's file, and its device and number.
  long file;
  uint64_t device, inode;
  // How many forks have begun and not ended.
  int forks;
  // The thread that forked, and its frame and instruction then, if they are known.
  uint64_t forked_frame, forked_instruction;
  uint32_t forked_thread;
} life = {.file = -1};

static void take_lock(void) {
  while (__atomic_exchange_n(&life.lock, 1, __ATOMIC_ACQUIRE)) call(SYS_sched_yield, 0, 0, 0, 0);
}

static void release_lock(void) { __atomic_store_n(&life.lock, 0, __ATOMIC_RELEASE); }

// --- The thread ---

// Waits until a time (CLOCK_BOOTTIME), or until the thread is to stop. Returns the time at which the
// thread should run again.
static uint64_t wait_until(uint64_t time) {
  uint64_t now = read_clock(CLOCK_BOOTTIME);
  if (time <= now) return now;
  int64_t left[2] = {(int64_t)((time - now) / SECOND), (int64_t)((time - now) % SECOND)};
  call(SYS_futex, (long)&life.should_stop, FUTEX_WAIT_PRIVATE, 0, (long)left);
  return time;
}

static int should_stop(void) { return __atomic_load_n(&life.should_stop, __ATOMIC_ACQUIRE); }

// Gives the thread a table of open files of its own, without those of the program.
static void separate_files(void) {
  if (call(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE, 0) != 0) return;
  shared->knows_activity = 1;
  memory_file = call(SYS_openat, AT_FDCWD, (long)"/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
}

// Returns how long to wait until the next look: at least as long as the cost of looks is small. It
// varies by a quarter, so that the looks do not always meet the same part of a program that repeats
// itself.
static uint64_t next_pause(uint64_t cost) {
  static uint64_t random = 88172645463325252u;
  uint64_t pause = cost * MAX_COST_FACTOR > life.interval ? cost * MAX_COST_FACTOR : life.interval;
  if (pause > SECOND) pause = SECOND;
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  return pause * 7 / 8 + random % (pause / 4);
}

// Returns whether the interpreter runs, and how the thread goes on if it does not.
static int is_ready(void) {
  if (shared->state == SAMPLING) return 1;
  enum state state = find_layout();
  shared->version = layout.version;
  if (state != SAMPLING) {
    shared->state = state;
    return 0;
  }
  if (read_word(runtime_at + (uint64_t)layout.interpreters) != 0) shared->state = SAMPLING;
  return shared->state == SAMPLING;
}

static int has_failed(void) {
  if (shared->state != STARTING && shared->state != SAMPLING) return 1;
  if (shared->samples < MIN_SAMPLES || shared->failed < shared->samples) return 0;
  shared->state = UNREADABLE;
  return 1;
}

// Whether the main thread has ended in a way of which the C library does not know.
static int is_alone(void) {
  // /proc/self/mem can still be read.
  if (uses_file && read_state((uint32_t)own_process) == 'Z') has_main_ended = 1;
  return has_main_ended;
}

static void *run(void *argument) {
  uint64_t last = read_clock(CLOCK_BOOTTIME), cost = 0;
  __atomic_store_n(&life.number, (uint32_t)call(SYS_gettid, 0, 0, 0, 0), __ATOMIC_RELEASE);
  call(SYS_prctl, PR_SET_NAME, (long)"ridealong-py", 0, 0);
  separate_files();
  shared->is_looking = 1;
  uint64_t before = read_clock(CLOCK_THREAD_CPUTIME_ID);
  while (!should_stop() && !has_failed() && !is_alone()) {
    uint64_t due = wait_until(last + next_pause(cost));
    if (should_stop()) break;
    uint64_t now = read_clock(CLOCK_BOOTTIME);
    if (is_ready()) look(now, now - last - count_missed(now, due));
    last = now;
    uint64_t after = read_clock(CLOCK_THREAD_CPUTIME_ID);
    cost = (7 * cost + (after - before)) / 8;
    shared->cost += after - before;
    before = after;
  }
  shared->is_looking = 0;
  // The table of open files, and the file in it, end with the thread.
  memory_file = -1;
  return argument;
}

// Begins the thread, unless it runs. The caller has the lock.
static void begin_thread(void) {
  static uint64_t attributes[ATTRIBUTES];
  if (life.is_running || life.is_over || shared == NULL || has_failed()) return;
  life.should_stop = 0;
  life.number = 0;
  // The C library reaches all threads with signals 32 and 33 (glibc), or 34 (musl).
  uint64_t before = 0, blocked = ~(3ull << 31);
  if (__register_atfork == NULL) blocked = ~(7ull << 31);
  call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&blocked, (long)&before, sizeof before);
  int error = -1;
  if (pthread_attr_init != NULL && pthread_attr_setstacksize != NULL &&
      pthread_attr_init(attributes) == 0 && pthread_attr_setstacksize(attributes, STACK_SIZE) == 0) {
    error = pthread_create(&life.thread, attributes, run, NULL);
  }
  // A program may have much memory of its own for each thread, and so need a larger stack.
  if (error != 0) error = pthread_create(&life.thread, NULL, run, NULL);
  call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
  life.is_running = error == 0;
  if (error != 0) shared->state = NO_THREAD;
}

// Ends the thread, and waits until the kernel does not count it any more. The caller has the lock.
static void end_thread(void) {
  if (!life.is_running) return;
  __atomic_store_n(&life.should_stop, 1, __ATOMIC_RELEASE);
  call(SYS_futex, (long)&life.should_stop, FUTEX_WAKE_PRIVATE, 1, 0);
  pthread_join(life.thread, NULL);
  life.is_running = 0;
  // pthread_join returns a moment before.
  for (int tries = 0; tries < 100000; tries++) {
    if (call(SYS_tgkill, own_process, life.number, 0, 0) == -ESRCH) return;
    call(SYS_sched_yield, 0, 0, 0, 0);
  }
}

// Whether this is the process that has the thread. A child that was not made with fork(3), such as
// that of vfork(2), has none, and may use the memory of its parent.
static int is_own(void) { return call(SYS_getpid, 0, 0, 0, 0) == own_process; }

static void end_with_main_thread(void *life_of_main) {
  (void)life_of_main;
  if (!is_own()) return;
  take_lock();
  life.is_over = 1;
  end_thread();
  release_lock();
}

// Begins the first thread of a process, in its main thread.
static void begin_with_main_thread(void) {
  if (shared == NULL) return;
  if (pthread_setspecific(life.key, &life) == 0) begin_thread();
  else shared->state = NO_THREAD;
}

// --- The memory ---

// struct stat begins with st_dev and st_ino on both architectures.
static void identify(long file, uint64_t *device, uint64_t *inode) {
  uint64_t facts[32] = {0};
  call(SYS_fstat, file, (long)facts, 0, 0);
  *device = facts[0];
  *inode = facts[1];
}

static void create_memory(void) {
  long file;
  struct shared *memory = make_shared_memory(SHARED_NAME, sizeof *memory, &file);
  if (memory == NULL) return;
  life.file = file;
  identify(file, &life.device, &life.inode);
  own_process = call(SYS_getpid, 0, 0, 0, 0);
  begin_tree(memory);
  memory->process = (uint32_t)own_process;
  // The observer reads the memory from now on.
  __atomic_thread_fence(__ATOMIC_RELEASE);
  memcpy(memory->magic, SHARED_MAGIC, sizeof SHARED_MAGIC);
}

// Gives up the memory of the parent. The program may have closed its file, and opened another one
// that has its number.
static void leave_memory(void) {
  uint64_t device, inode;
  if (shared == NULL) return;
  call(SYS_munmap, (long)shared, sizeof *shared, 0, 0);
  shared = NULL;
  identify(life.file, &device, &inode);
  if (device == life.device && inode == life.inode) call(SYS_close, life.file, 0, 0, 0);
}

// --- Forks ---

// Finds the thread state of a thread of the operating system.
static uint64_t find_thread(uint32_t number) {
  unsigned char state[MAX_THREAD];
  uint64_t thread = read_word(main_interpreter() + (uint64_t)layout.threads);
  for (uint32_t count = 0; thread != 0 && count < MAX_LIST; count++) {
    if (read_memory(thread, state, thread_bytes) != 0) return 0;
    if (id_of_thread(state) == number) return thread;
    thread = word_at(state, layout.next_thread);
  }
  return 0;
}

// Remembers where the thread calls fork. Without a frame, it does not run Python.
static void remember_fork(void) {
  life.forked_thread = (uint32_t)call(SYS_gettid, 0, 0, 0, 0);
  uint64_t thread = find_thread(life.forked_thread);
  life.forked_frame = thread == 0 ? 0 : innermost_frame(thread);
  life.forked_instruction = read_word(life.forked_frame + (uint64_t)layout.instruction);
}

// Whether the thread that forked is still in os.fork(), which runs functions of Python
// (os.register_at_fork) before it counts the threads. Its frame then is at the same instruction, but
// not the innermost one.
static int is_in_fork(void) {
  uint64_t thread = life.forked_frame == 0 ? 0 : find_thread(life.forked_thread);
  uint64_t frame = thread == 0 ? 0 : innermost_frame(thread);
  if (frame == life.forked_frame) return 0;
  for (int depth = 0; frame != 0 && frame != life.forked_frame && depth < MAX_LIST; depth++) {
    frame = read_word(frame + (uint64_t)layout.previous);
  }
  return frame != 0 && frame == life.forked_frame &&
         read_word(frame + (uint64_t)layout.instruction) == life.forked_instruction;
}

static int (*add_pending_call)(int (*function)(void *), void *argument);

// The interpreter calls this function in its main thread, between two instructions.
static int continue_after_fork(void *argument) {
  take_lock();
  if (life.forks == 0 && !life.is_running) {
    if (is_in_fork() && add_pending_call(continue_after_fork, argument) == 0) argument = NULL;
    else begin_thread();
  }
  release_lock();
  return 0;
}

static int counts_threads(void) { return layout.version >= 0x030c && add_pending_call != NULL; }

static void before_fork(void) {
  if (!is_own()) return;
  take_lock();
  life.forks++;
  if (life.is_running) {
    end_thread();
    if (shared->state == SAMPLING && counts_threads()) remember_fork();
  }
  release_lock();
}

static void after_fork_in_parent(void) {
  if (!is_own()) return;
  take_lock();
  life.forks--;
  int is_delayed = shared != NULL && shared->state == SAMPLING && counts_threads();
  if (life.forks == 0 && !is_delayed) begin_thread();
  release_lock();
  // If there is no room for a further call, the thread stays away until the next fork.
  if (is_delayed) add_pending_call(continue_after_fork, NULL);
}

static void after_fork_in_child(void) {
  life.lock = 0;
  life.forks = 0;
  life.is_running = 0;
  life.is_over = 0;
  has_main_ended = 0;
  leave_memory();
  create_memory();
  begin_with_main_thread();
}

// --- The beginning ---

static uint64_t read_interval(void) {
  const char *text = getenv == NULL ? NULL : getenv("RIDEALONG_PYTHON_FREQUENCY");
  uint64_t frequency = 0;
  for (; text != NULL && *text >= '0' && *text <= '9' && frequency <= MAX_FREQUENCY; text++) {
    frequency = frequency * 10 + (uint64_t)(*text - '0');
  }
  if (frequency == 0 || frequency > MAX_FREQUENCY) frequency = DEFAULT_FREQUENCY;
  return SECOND / frequency;
}

__attribute__((constructor)) static void begin(void) {
  int has_threads = pthread_create != NULL && pthread_join != NULL && pthread_key_create != NULL &&
                    pthread_setspecific != NULL;
  if (!is_python() || !has_threads || !find_interpreter()) return;
  add_pending_call = (int (*)(int (*)(void *), void *))find_symbol("Py_AddPendingCall");
  life.interval = read_interval();
  create_memory();
  if (shared == NULL || pthread_key_create(&life.key, end_with_main_thread) != 0) return;
  if (__register_atfork != NULL) {
    __register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, NULL);
  } else if (pthread_atfork != NULL) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  }
  take_lock();
  begin_with_main_thread();
  release_lock();
}
