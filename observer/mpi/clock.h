// The clocks, and the lock of the table.

#pragma once

#include "table.h"

struct duration {
  int64_t seconds, nanoseconds;
};

extern WEAK int clock_gettime(int clock, struct duration *time);

static uint64_t read_clock(int clock) {
  struct duration time = {0, 0};
  // The function of the C library needs no system call (vdso(7)).
  if (clock_gettime != NULL) clock_gettime(clock, &time);
  else call(SYS_clock_gettime, clock, (long)&time, 0, 0);
  return (uint64_t)time.seconds * 1000000000u + (uint64_t)time.nanoseconds;
}

static uint64_t now(void) { return read_clock(CLOCK_MONOTONIC); }

static void pause_briefly(void) {
#if defined(__x86_64__)
  __asm__ volatile("pause");
#else
  __asm__ volatile("yield");
#endif
}

static int try_lock(void) { return !__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE); }

static void take_lock(void) {
  for (int tries = 0; !try_lock(); tries++) {
    // The thread that has the lock may wait for this processor.
    if (tries % 128 == 127) call(SYS_sched_yield, 0, 0, 0, 0);
    else pause_briefly();
  }
}

static void release_lock(void) { __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); }
