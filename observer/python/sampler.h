// Takes the samples: looks at all threads of the interpreter.

#pragma once

#include "../preload/text.h"
#include "clock.h"
#include "stack.h"

// The most threads and interpreters that are looked at.
#define MAX_LIST 1024
#define MAX_INTERPRETERS 64
// After as many samples, the memory is not as expected if none could be read.
#define MIN_SAMPLES 200
// If the sampler runs again more than these nanoseconds too late, the process was stopped, or the
// sampler had no processor. A look itself can take long, since another thread can hold the lock of
// the address space.
#define MAX_LATE 2000000000u

// The parts of struct pthread of glibc before its `tid`, which thread_id is the address of in 3.9 and
// 3.10 (nptl/descr.h).
#if defined(__aarch64__)
#define TID_IN_PTHREAD 0xd0
#else
#define TID_IN_PTHREAD 0x2d0
#endif

// A sample of a thread.
struct sample {
  uint32_t thread, is_main;
  int activity;
  uint64_t now, interval;
};

// Returns the id of a thread; 0 if it is not known.
static uint32_t id_of_thread(const unsigned char *state) {
  uint64_t id = word_at(state, layout.thread_id);
  int32_t number = (int32_t)id;
  if (layout.owner < 0 && read_memory(id + TID_IN_PTHREAD, &number, sizeof number) != 0) return 0;
  if (number <= 0) return 0;
  int is_there = layout.owner >= 0 || call(SYS_tgkill, own_process, number, 0, 0) == 0;
  return is_there ? (uint32_t)number : 0;
}

// Reads the letter of the state of a thread from /proc/self/task/TID/stat; '\0' if it is not known.
// The sampler has its own table of open files; see lifetime.h.
static char read_state(uint32_t thread) {
  char path[64], text[256];
  if (!shared->knows_activity || thread == 0) return '\0';
  size_t at = append(path, sizeof path, 0, "/proc/self/task/");
  at = append_number(path, sizeof path, at, thread);
  append(path, sizeof path, at, "/stat");
  long file = call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return '\0';
  long count = call(SYS_read, file, (long)text, sizeof text, 0);
  call(SYS_close, file, 0, 0, 0);
  // The name of the thread is in parentheses, and may have some itself. The state follows.
  long end = count - 1;
  while (end > 0 && text[end] != ')') end--;
  return end <= 0 || end + 2 >= count ? '\0' : text[end + 2];
}

// Reads whether a thread runs or waits for a processor.
static int read_activity(uint32_t thread) {
  char state = read_state(thread);
  return state == '\0' ? NOT_KNOWN : state == 'R' ? RUNNING : WAITING;
}

// Returns the place of a thread, or a free one if it has none; NULL if there is none.
static struct thread_place *find_place(uint32_t thread) {
  struct thread_place *free = NULL;
  for (size_t at = 0; thread != 0 && at < MAX_THREADS; at++) {
    struct thread_place *each = &shared->threads[at];
    if (each->thread == thread) return each;
    if (each->thread == 0 && free == NULL) free = each;
  }
  return free;
}

// Shows the stack in which a thread is now.
static void show_thread(struct thread_place *place, const struct sample *sample, uint32_t node) {
  if (place->thread == 0 || place->node != node) place->since = sample->now;
  place->node = node;
  place->activity = sample->activity;
  place->is_main = sample->is_main;
  __atomic_store_n(&place->thread, sample->thread, __ATOMIC_RELEASE);
}

// Frees the places of threads that have ended, and of those that are not in Python any more if this
// look has seen all threads.
static void forget_threads(int has_seen_all) {
  for (size_t at = 0; at < MAX_THREADS; at++) {
    struct thread_place *place = &shared->threads[at];
    if (place->thread == 0) continue;
    if ((has_seen_all && place->look != shared->looks) ||
        call(SYS_tgkill, own_process, place->thread, 0, 0) == -ESRCH) {
      __atomic_store_n(&place->thread, 0, __ATOMIC_RELEASE);
    }
  }
}

static void add_sample(const struct sample *sample, uint64_t thread, const unsigned char *state) {
  uint32_t node = 0;
  int error = read_stack(thread, state);
  // A thread that has no frame does not run Python.
  if (error == 0 && stack.depth == 0) return;
  struct thread_place *place = find_place(sample->thread);
  // The place stays if the stack could not be read.
  if (place != NULL) place->look = shared->looks;
  shared->samples++;
  if (error == 0) error = find_leaf(sample->is_main ? ROOT_MAIN : ROOT_OTHER, &node);
  if (error != 0) {
    shared->failed++;
    return;
  }
  struct node *leaf = &shared->nodes[node];
  shared->cut += is_cut;
  leaf->samples++;
  leaf->time += sample->interval;
  if (sample->activity == RUNNING) {
    leaf->running++;
    leaf->running_time += sample->interval;
  }
  if (place != NULL) show_thread(place, sample, node);
}

// Returns the interpreter that was made first, which is the last of the list.
static uint64_t main_interpreter(void) {
  uint64_t interpreter = read_word(runtime_at + (uint64_t)layout.interpreters), next = interpreter;
  uint32_t count = 0;
  for (; next != 0 && count < MAX_INTERPRETERS; count++) {
    interpreter = next;
    next = read_word(next + (uint64_t)layout.next_interpreter);
  }
  if (count > shared->interpreters) shared->interpreters = count;
  return interpreter;
}

// Counts the time by which the sampler runs again too late after a pause, and returns it, if it is
// long. Nothing is known of this time.
static uint64_t count_missed(uint64_t now, uint64_t due) {
  uint64_t late = now > due ? now - due : 0;
  if (late <= MAX_LATE) return 0;
  shared->missed += late;
  return late;
}

// Looks at all threads. `interval` is the time for which the samples stand, in nanoseconds. The main
// thread was made first, so it is the last of the list.
static void look(uint64_t now, uint64_t interval) {
  unsigned char state[MAX_THREAD];
  uint64_t interpreter = main_interpreter();
  if (interpreter == 0) return;
  uint64_t thread = read_word(interpreter + (uint64_t)layout.threads);
  uint32_t count = 0;
  for (uint64_t next; thread != 0 && count < MAX_LIST; thread = next, count++) {
    if (read_memory(thread, state, thread_bytes) != 0) break;
    next = word_at(state, layout.next_thread);
    if (count >= MAX_THREADS - 1 && next != 0) continue;
    uint32_t id = id_of_thread(state);
    struct sample sample = {id, id == 0 ? next == 0 : id == (uint32_t)own_process,
                            read_activity(id), now, interval};
    add_sample(&sample, thread, state);
  }
  if (count > MAX_THREADS && count - MAX_THREADS > shared->threads_left_out) {
    shared->threads_left_out = count - MAX_THREADS;
  }
  if (shared->began == 0) shared->began = now;
  shared->time += interval;
  forget_threads(thread == 0);
  shared->looks++;
  __atomic_store_n(&shared->looked, now, __ATOMIC_RELEASE);
}
