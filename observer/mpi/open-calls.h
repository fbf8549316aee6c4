// Shows the call in which a thread is, while it is in it.

#pragma once

#include "requests.h"

// When the last collective call of the process ended.
static uint64_t last_collective;

static int is_collective(const struct call *what) {
  return what->comm != 0 && what->peer == 0 && !what->partly;
}

static enum transfer transfer_of(const struct call *what) {
  if (what->peer == 0) return NO_TRANSFER;
  if (what->to == 0) return RECEIVE;
  return what->to == what->peer ? SEND : SEND | RECEIVE;
}

// Takes a place that is free, or that a thread does not use any more. Threads may end without
// notice.
static struct open_call *take_place(struct shared *memory, uint64_t time) {
  if (thread.number == 0) thread.number = (uint32_t)call(SYS_gettid, 0, 0, 0, 0);
  for (uint32_t at = 0; at < MAX_THREADS; at++) {
    struct open_call *open = &memory->open[at];
    uint32_t owner = __atomic_load_n(&open->thread, __ATOMIC_RELAXED);
    int is_idle = open->call == NO_CALL && time - open->since > IDLE_TIME;
    if (owner != 0 && !is_idle) continue;
    int is_taken = __atomic_compare_exchange_n(&open->thread, &owner, thread.number, 0,
                                               __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    if (!is_taken) continue;
    thread.place = at + 1;
    return open;
  }
  __atomic_fetch_add(&memory->threads_left_out, 1, __ATOMIC_RELAXED);
  return NULL;
}

// Returns the place of this thread, or NULL if it has none.
static struct open_call *own_place(struct shared *memory) {
  if (memory == NULL || thread.place == 0) return NULL;
  struct open_call *open = &memory->open[thread.place - 1];
  return open->thread == thread.number ? open : NULL;
}

// Counts a collective call on a communicator, and returns its number.
static uint64_t count_collective(struct shared *memory, uint32_t position, uint64_t time) {
  uint64_t gap = time - (last_collective == 0 ? memory->began : last_collective);
  if (gap > memory->longest_gap) memory->longest_gap = gap;
  uint64_t number = memory->begun[position].collectives + 1;
  __atomic_store_n(&memory->begun[position].collectives, number, __ATOMIC_RELAXED);
  return number;
}

// Shows a call that begins. Its position and peer are those in the span.
static void show_call(struct span *span, uint32_t id, enum transfer transfer) {
  struct shared *memory = shared_memory();
  span->number = 0;
  if (memory == NULL) return;
  if (span->is_collective && span->position < MAX_COMMUNICATORS) {
    span->number = count_collective(memory, span->position, span->start);
  }
  struct open_call *open = own_place(memory);
  if (open == NULL) open = take_place(memory, span->start);
  if (open == NULL) return;
  int is_numbered = span->number != 0;
  uint64_t call = describe_call(id, span->position, transfer, is_numbered, span->peer);
  if (is_numbered) __atomic_store_n(&open->number, span->number, __ATOMIC_RELAXED);
  __atomic_store_n(&open->since, span->start, __ATOMIC_RELAXED);
  __atomic_store_n(&open->call, call, __ATOMIC_RELEASE);
}

// Shows that the thread is in no call since a time.
static void hide_call(uint64_t time) {
  struct open_call *open = own_place(shared_memory());
  if (open == NULL) return;
  __atomic_store_n(&open->call, NO_CALL, __ATOMIC_RELAXED);
  __atomic_store_n(&open->since, time, __ATOMIC_RELEASE);
}

// Corrects the number of collective calls on a communicator when a call returns. The position is
// that in the span. A call that failed was not made: the other members still wait for it. The
// communicator of a successful call may have been new.
static void correct_collectives(const struct span *span, int error, uint64_t time) {
  if (!span->is_collective) return;
  last_collective = time;
  if ((error != 0) == (span->number == 0)) return;
  struct shared *memory = shared_memory();
  if (memory == NULL || span->position >= MAX_COMMUNICATORS) return;
  uint64_t *collectives = &memory->begun[span->position].collectives;
  __atomic_store_n(collectives, *collectives + (error == 0 ? 1 : -1ull), __ATOMIC_RELAXED);
}
