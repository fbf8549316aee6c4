// How long the threads waited for a processor outside of calls of MPI and in them, and how long they
// slept outside of calls: for a time, for a device, or for another thread.
//
// The kernel counts the time in which a thread could run and had no processor, as the second number
// of /proc/thread-self/schedstat (Documentation/scheduler/sched-stats.rst). It is read at the end of
// long calls, and of long times between calls, so that frequent calls do not become slower. The
// file is not kept open, because a program may close all files and open others.

#pragma once

#include "clock.h"

enum { OUTSIDE, IN_CALL };

// Reads how long this thread has waited, in nanoseconds. Returns 0 if that cannot be read.
static int read_waits(uint64_t *waited) {
  char text[64];
  int flags = O_RDONLY | O_CLOEXEC;
  long file = call(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/schedstat", flags, 0);
  if (file < 0) return 0;
  long length = call(SYS_read, file, (long)text, sizeof text, 0), at = 0;
  call(SYS_close, file, 0, 0, 0);
  while (at < length && text[at] != ' ') at++;
  *waited = 0;
  for (at++; at < length && text[at] != ' '; at++) *waited = *waited * 10 + (uint64_t)(text[at] - '0');
  return at < length;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Returns a - b, or 0 if that is negative.
static uint64_t difference(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// Begins to count the waits of this thread.
static void begin_waits(uint64_t time) {
  if (!table.are_waits_known) return;
  table.are_waits_known = (uint32_t)read_waits(&thread.waited);
  thread.ran = read_clock(CLOCK_THREAD_CPUTIME_ID);
  thread.waited_at = time;
  thread.unread[OUTSIDE] = thread.unread[IN_CALL] = 0;
}

static void add_waits(int place, uint64_t waited) {
  uint64_t *sum = place == OUTSIDE ? &table.waits_outside : &table.waits_in_calls;
  __atomic_fetch_add(sum, waited, __ATOMIC_RELAXED);
}

static void add_sleep(uint64_t slept) {
  __atomic_fetch_add(&table.slept_outside, slept, __ATOMIC_RELAXED);
}

// Divides the time that a thread waited and slept between the times outside of calls and in them at
// whose ends nothing was read.
static void divide_waits(struct wait wait) {
  uint64_t outside = thread.unread[OUTSIDE], all = outside + thread.unread[IN_CALL];
  double part = all == 0 ? 0 : (double)outside / (double)all;
  uint64_t waited = (uint64_t)((double)wait.waited * part);
  add_waits(OUTSIDE, waited);
  add_waits(IN_CALL, wait.waited - waited);
  add_sleep(least((uint64_t)((double)wait.slept * part), difference(outside, waited)));
  thread.unread[OUTSIDE] = thread.unread[IN_CALL] = 0;
}

// Counts the waits of this thread in the time that ends now, in a call or outside. Nothing is read if
// the time was short: it is at least as long as the waits in it, which are counted at the next read.
static struct wait count_waits(int place, uint64_t start, uint64_t end) {
  uint64_t length = end - start, waited;
  int is_long = length >= LONG_TIME;
  if (!table.are_waits_known) return (struct wait){0, 0};
  if (!is_long) thread.unread[place] += length;
  if (!is_long && end - thread.waited_at < READ_INTERVAL) return (struct wait){0, 0};
  if (!read_waits(&waited)) {
    table.are_waits_known = 0;
    return (struct wait){0, 0};
  }
  uint64_t ran = read_clock(CLOCK_THREAD_CPUTIME_ID);
  uint64_t more = waited - thread.waited, here = is_long ? least(more, length) : 0;
  uint64_t slept = difference(end - thread.waited_at, more + ran - thread.ran);
  // The thread ran in the short times too.
  uint64_t ran_here = difference(ran - thread.ran, thread.unread[OUTSIDE] + thread.unread[IN_CALL]);
  uint64_t slept_here = is_long ? least(difference(length - here, ran_here), slept) : 0;
  thread.waited = waited;
  thread.ran = ran;
  thread.waited_at = end;
  add_waits(place, here);
  if (place == OUTSIDE) add_sleep(slept_here);
  divide_waits((struct wait){more - here, slept - slept_here});
  return (struct wait){here, slept_here};
}

// Counts the waits of this thread since its last call.
static void count_waits_outside(uint64_t time) {
  if (thread.left == 0) begin_waits(time);
  else count_waits(OUTSIDE, thread.left, time);
}
