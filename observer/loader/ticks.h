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

// The beginning of siginfo_t of a timer.
struct information {
  int32_t signal;
  int32_t error;
  int32_t code;
  int32_t padding;
  int32_t timer;
  int32_t overruns;
  uint64_t value;
};

// Whether the signal of the timer still has the handler of this library in this process. The
// kernel is asked, because a child created by vfork(2) has other handlers in the same memory.
int has_tick_handler(void);

// Whether the signal of the timer is ignored. A handler would change that for the programs that
// the program executes.
int is_tick_ignored(void);

// Deletes the timer, and sets the signal back to its default action.
void stop_ticks(void);

// Whether there is a timer. A forked child has none, but says that it has.
int has_timer(void);

// Counts the ticks that a signal stands for. Returns whether it comes from the timer.
int count_signal(const struct information *information);

// Returns the number of ticks that the process has received, and the number that its processor time
// has made due until now.
uint64_t count_ticks(void);
uint64_t count_due_ticks(void);

uint64_t nanoseconds_since_boot(void);

// Sets the functions of libunwind that walk the stack.
void set_unwinder(struct unwinder unwinder);
