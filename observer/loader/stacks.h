// The stacks of threads, on request of the observer.
//
// While the observer wants stacks, the folder of the results has the symbolic link `stacks`, whose
// text is the name of the file for the answers: `stacks_` and 16 hexadecimal digits, the number of
// the request. Each thread appends its stack to this file, once for a request. It looks for a
// request in the handler of the timer, so a thread that computes answers without a further signal.
// A thread that waits gets the signal from the observer, which has made sure that the kernel
// continues its call afterwards (crates/observer/src/stacks).
//
// The handler allocates no memory, takes no lock of the program, and keeps no file open.

#pragma once

#include "loader.h"

enum {
  // The most functions of a stack: the innermost ones.
  MAX_FRAMES = 256,
  // What a record has. Other tools, such as one for Python, can add records of other kinds.
  STACK_OF_ADDRESSES = 1,
  // A flag of a record: the stack has more functions.
  IS_CUT = 1,
  // The third argument of unw_init_local2: the context is that of a signal.
  UNW_INIT_SIGNAL_FRAME = 1,
};

#define STACK_MAGIC 0x314b4341545352ull

// A record of the answers. The words are little-endian.
struct stack_record {
  uint64_t magic;
  // The ids as the process itself sees them, and the value of its timer (/proc/PID/timers), which
  // also distinguishes processes with equal ids in different PID namespaces.
  uint32_t process, thread;
  uint64_t timer;
  uint16_t kind, flags;
  uint32_t count;
  // The address of the instruction, and the return addresses of its callers.
  uint64_t addresses[MAX_FRAMES];
};

// Returns the number of the request that this thread has not answered; 0 if there is none.
uint64_t find_stack_request(void);

// What the walk of a stack needs: libunwind's functions unw_init_local2, unw_get_reg and unw_step.
struct unwinder {
  int (*init_local2)(void *cursor, void *context, int flag);
  int (*get_register)(void *cursor, int number, uint64_t *value);
  int (*step)(void *cursor);
};

// Appends the stack of this thread to the file of the request. `context` is what the signal has
// interrupted. Needs about 8 KiB of stack.
void answer_stack_request(uint64_t request, const struct unwinder *unwinder, void *context,
                          uint64_t timer);
