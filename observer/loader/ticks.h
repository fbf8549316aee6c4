// The timer of the profiler, and its signal handler.

#pragma once

#include "stacks.h"

// The C libraries' struct sigaction.
struct action {
  void *handler;
  uint64_t mask[16];
  int32_t flags;
  void (*restorer)(void);
};

// Whether the signal of the timer still has the handler of this library in this process. The
// kernel is asked, because a child created by vfork(2) has other handlers in the same memory.
int has_tick_handler(void);

// Whether the signal of the timer is ignored. A handler would change that for the programs that
// the program executes.
int is_tick_ignored(void);

// Deletes the timer, and sets the signal back to its default action.
void stop_ticks(void);

// Returns the number of ticks that the process has received, and the number that its processor time
// has made due until now.
uint64_t count_ticks(void);
uint64_t count_due_ticks(void);

// Sets the functions of libunwind that walk the stack.
void set_unwinder(struct unwinder unwinder);
