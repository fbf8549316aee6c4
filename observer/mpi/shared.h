// The memory that the recorder shares with the observer: the calls in which the threads of the
// process are now, and the numbers of its collective calls.
//
// The file of the recorder is written only when a call returns, so it does not show a call that
// never returns. This memory does, for the price of a few stores for each call. It is a file without
// a name (memfd_create(2)), which the observer opens through /proc/PID/fd. Nobody can shorten it,
// because it is sealed; a program that uses a mapping of a file beyond its end gets SIGBUS. While
// the observer has it open, it outlives the process.
//
// If it cannot be made, for example because the process may have too few open files, the calls are
// recorded without it.

#pragma once

#include "../preload/memory.h"
#include "clock.h"

// The last byte is the version of the format.
static const char SHARED_MAGIC[] = {'R', 'L', 'M', 'P', 'O', 0, 0, 2};
#define SHARED_NAME "ridealong-mpi"

// The call in which a thread is. The observer has the same offsets (its module
// metrics::mpi_trace::open_calls).
struct open_call {
  // The call, as describe_call makes it, or NO_CALL if the thread is in none. It is written last
  // when a call begins, and first when it ends, so that a call is never shown with the number or
  // the time of an earlier one. The observer reads twice, because it may read while this changes.
  uint64_t call;
  // When the call began, or when the last one ended: CLOCK_MONOTONIC.
  uint64_t since;
  // The number of a collective call on its communicator, from 1. Other calls do not change it.
  uint64_t number;
  // The id of the thread; 0 if the place is free.
  uint32_t thread;
  uint32_t unused[9];
};

#define NO_CALL 0xffffull

// Describes a call in one word, which is written by one store: the number of the function (bits 0
// to 15), the position of the communicator (16 to 23), what it waits for (24 and 25), whether it is
// collective (26), and the peer (32 to 63).
static uint64_t describe_call(uint32_t id, uint32_t position, enum transfer transfer,
                              int is_collective, int32_t peer) {
  uint32_t low = id | position << 16 | (uint32_t)transfer << 24 | (uint32_t)is_collective << 26;
  return low | (uint64_t)(uint32_t)peer << 32;
}

_Static_assert(CALLS < NO_CALL && COMMUNICATOR_NONE < 256, "the parts of a word have room");

// The collective calls on a communicator that the process has begun: those that all members make,
// in the same order. The members of a communicator are in the same one if their numbers are equal.
struct begun {
  uint64_t members;
  uint32_t size, remote_size, ordinal, is_freed;
  uint64_t collectives;
};

struct shared {
  char magic[8];
  uint32_t process, calls;
  // As in the table.
  uint64_t began_since_boot, began;
  // The longest time from MPI_Init or the end of a collective call to the beginning of the next one.
  uint64_t longest_gap;
  uint32_t communicators;
  // The number of times that a thread did not find a place.
  uint32_t threads_left_out;
  uint64_t unused[2];
  struct open_call open[MAX_THREADS];
  struct begun begun[MAX_COMMUNICATORS];
  char names[CALLS][NAME];
};

_Static_assert(sizeof(struct open_call) == 64, "threads do not share the lines of the cache");
_Static_assert(offsetof(struct shared, begun) == 4096, "the observer knows this offset");

// A page that is zero in a forked child, which must not write to the memory of its parent
// (madvise(2), MADV_WIPEONFORK). It has the address of the memory.
static struct shared *no_memory;
static struct shared **memory_place = &no_memory;

// Returns the memory, or NULL if there is none.
static struct shared *shared_memory(void) { return *memory_place; }

// Shows since when the process is in MPI: the times of the table.
static void show_beginning(struct shared *memory) {
  if (memory == NULL) return;
  memory->began_since_boot = table.began_since_boot;
  memory->began = table.began;
}

// Makes the memory, when the table has the times and the process.
static void create_memory(void) {
  struct shared **place = map_memory(page_size(), MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (place == NULL || call(SYS_madvise, (long)place, (long)page_size(), MADV_WIPEONFORK, 0) != 0) {
    return;
  }
  long file;
  struct shared *memory = make_shared_memory(SHARED_NAME, sizeof *memory, &file);
  if (memory == NULL) return;
  for (size_t at = 0; at < MAX_THREADS; at++) memory->open[at].call = NO_CALL;
  for (size_t at = 0; at < CALLS; at++) append(memory->names[at], NAME, 0, calls[at].name);
  memory->process = table.process;
  memory->calls = CALLS;
  show_beginning(memory);
  *place = memory;
  memory_place = place;
  // The observer reads the memory from now on.
  __atomic_thread_fence(__ATOMIC_RELEASE);
  memcpy(memory->magic, SHARED_MAGIC, sizeof SHARED_MAGIC);
}

// Shows a communicator of the table, which is new or has been freed.
static void show_communicator(uint32_t at) {
  struct shared *memory = shared_memory();
  if (memory == NULL) return;
  const struct communicator *known = &table.communicator[at];
  struct begun *begun = &memory->begun[at];
  begun->members = known->members;
  begun->size = known->size;
  begun->remote_size = known->remote_size;
  begun->ordinal = known->ordinal;
  begun->is_freed = known->handle == 0;
  __atomic_store_n(&memory->communicators, table.communicators, __ATOMIC_RELEASE);
}
