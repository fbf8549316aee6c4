// The handles that were freed, for calls that are not over.
//
// A thread may free a communicator or a datatype while a call of another thread still uses it (MPI
// 4.0, 5.1.9 and 7.4.3). When that call returns, the handle may stand for nothing, or for another
// object, so that MPI cannot be asked about it any more.

#pragma once

#include "clock.h"

// The handles that were freed last, in turns, and how many were freed in all.
static word freed[MAX_FREED];
static uint64_t freed_count;

// Notes that a handle is about to be freed. The caller has the lock.
static void note_freed(word handle) {
  freed[freed_count % MAX_FREED] = handle;
  __atomic_store_n(&freed_count, freed_count + 1, __ATOMIC_RELEASE);
}

static uint64_t count_freed(void) { return __atomic_load_n(&freed_count, __ATOMIC_ACQUIRE); }

// Whether a handle may have been freed since so many handles were freed.
static int is_freed_since(uint64_t count, word handle) {
  if (count_freed() == count) return 0;
  take_lock();
  int is_freed = freed_count - count > MAX_FREED;
  for (; !is_freed && count < freed_count; count++) is_freed = freed[count % MAX_FREED] == handle;
  release_lock();
  return is_freed;
}
