// The memory that the sampler shares with the observer (preload/memory.h): the stacks that it has
// seen, how often, and the stacks in which the threads are now. Only the thread of the sampler
// writes to it; see lifetime.h for forked children. The observer has the same sizes and offsets (its
// module metrics::python_profile::memory).

#pragma once

#include "../preload/memory.h"

#define SHARED_NAME "ridealong-python"
// The sizes of the tables. The memory takes only the pages that are used.
#define MAX_THREADS 64
#define MAX_FRAMES 16384
#define MAX_NODES 32768
#define MAX_TEXTS (1 << 20)

// The last byte is the version of the format.
static const char SHARED_MAGIC[] = {'R', 'L', 'P', 'Y', 'T', 0, 0, 1};

// What the sampler does. STARTING: the interpreter does not run yet.
enum state {
  STARTING,
  SAMPLING,
  // The threads of this build of CPython run without a GIL.
  FREE_THREADED,
  // This version of CPython is not known, or its memory is not as expected.
  UNKNOWN_VERSION,
  UNREADABLE,
  // A thread for the sampler cannot be made.
  NO_THREAD,
};

// A thread of the interpreter. Its stack is the path from a node to the root.
struct thread_place {
  // The id of the thread, as the process sees it; 0 if the place is free.
  uint32_t thread;
  uint32_t node;
  // Since when the stack has been the same: CLOCK_BOOTTIME.
  uint64_t since;
  enum { WAITING, RUNNING, NOT_KNOWN } activity;
  uint32_t is_main;
  // The number of the last look that has found the thread in Python.
  uint64_t look;
};

// A line of a function. `text` is the offset of the name of the function, and after it the path of
// its file, both terminated.
struct frame {
  uint32_t text, line;
};

// A node of the tree of stacks. The nodes 0 and 1 are the roots of the main thread and of the
// others.
struct node {
  uint32_t parent, frame;
  // The samples of threads whose innermost frame this is, and those in which the thread was running
  // or waited for a processor.
  uint64_t samples, running;
  // The time for which they stand, in nanoseconds.
  uint64_t time, running_time;
};

enum { ROOT_MAIN, ROOT_OTHER, ROOTS };

struct shared {
  char magic[8];
  // The id as the process sees it.
  uint32_t process;
  // The version of CPython, such as 0x030c for 3.12.
  uint32_t version;
  enum state state;
  // Whether it is known which threads run.
  uint32_t knows_activity;
  // When the sampler began to see an interpreter, and when it has last looked: CLOCK_BOOTTIME.
  uint64_t began, looked;
  // How often it has looked, the time for which the samples stand, and its own processor time, in
  // nanoseconds.
  uint64_t looks, time, cost;
  // The samples of threads, those whose stack could not be read, and those whose innermost frames are
  // missing, because there was no room for a node.
  uint64_t samples, failed, cut;
  uint32_t texts_used, frames_used, nodes_used;
  // The most interpreters, of which one is sampled, and the most threads without a place.
  uint32_t interpreters, threads_left_out;
  // Whether the sampler has a thread. If not, what `threads` says is old.
  uint32_t is_looking;
  // The time in which it has not looked, in nanoseconds, because the process was stopped or the
  // sampler had no processor. No sample stands for it.
  uint64_t missed;
  // Whether functions or lines have no name, because there was no room for it.
  uint32_t lacks_names;
  uint32_t unused[17];
  struct thread_place threads[MAX_THREADS];
  struct frame frames[MAX_FRAMES];
  struct node nodes[MAX_NODES];
  char texts[MAX_TEXTS];
};

_Static_assert(offsetof(struct shared, threads) == 192, "the observer knows this offset");
_Static_assert(sizeof(struct thread_place) == 32 && sizeof(struct node) == 40, "and these sizes");
