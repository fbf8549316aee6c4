// Records a call: what the wrappers do before and after the function of the MPI library.

#pragma once

#include "open-calls.h"
#include "waits.h"

// Whether the call is made by another call of MPI. A call that was left by longjmp or an exception
// does not return; leave_by_jump and leave_by_exception learn of that. After any other way, the
// stack tells: a call that another one makes is below it.
static int is_nested(const struct span *span) {
  if (thread.depth > 0 && (word)span >= thread.stack) thread.depth = 0;
  return thread.depth > 0;
}

static int integer(const struct span *span, word argument) {
  return span->binding == BINDING_C ? (int)argument : *(const int *)argument;
}

static word communicator_argument(const struct span *span, word argument) {
  if (span->binding == BINDING_C) return to_handle(argument);
  return handle_at(argument, 0, span->binding, mpi.Comm_f2c);
}

// Finds the communicator and the peer of a call before it is made. The arguments may be invalid, so
// only a communicator that is in the table counts.
static void find_place(struct span *span, const struct call *what, const word *arguments) {
  uint8_t role = what->peer != 0 ? what->peer : what->root;
  word communicator = arguments[what->comm - 1], peer = role == 0 ? 0 : arguments[role - 1];
  int is_fortran = span->binding != BINDING_C;
  if (is_fortran && (communicator == 0 || (role != 0 && peer == 0))) return;
  word handle = span->communicator = communicator_argument(span, communicator);
  uint32_t position = handle == 0 ? COMMUNICATOR_OTHER : find_communicator(handle);
  if (position >= MAX_COMMUNICATORS) return;
  span->position = position;
  if (role != 0) span->peer = world_rank(position, handle, integer(span, peer));
}

// The functions of MPI that free an object can be called in each function of the program that MPI
// calls, and a library that observes MPI calls them by their names with PMPI. The recorder forgets
// an object before it is freed, because another thread may have an object with the same handle
// before the call returns. If a communicator is not freed, because a function of the program
// refuses, it is added again when it is used.

static uint32_t free_communicator(word place, enum binding binding) {
  if (!is_recording || place == 0) return COMMUNICATOR_NONE;
  word handle = handle_at(place, 0, binding, mpi.Comm_f2c);
  take_lock();
  note_freed(handle);
  uint32_t position = forget_communicator(handle);
  release_lock();
  return position;
}

// A communicator that is freed by a name with PMPI.
static void free_unrecorded(word place, enum binding binding) {
  uint32_t position = free_communicator(place, binding);
  if (position >= MAX_COMMUNICATORS) return;
  take_lock();
  show_communicator(position);
  release_lock();
}

static void free_request(word place, enum binding binding) {
  if (!is_recording || place == 0) return;
  word handle = handle_at(place, 0, binding, mpi.Request_f2c);
  take_lock();
  forget_request(handle);
  release_lock();
}

static void free_type(word place, enum binding binding) {
  if (!is_recording || place == 0) return;
  word handle = handle_at(place, 0, binding, mpi.Type_f2c);
  take_lock();
  note_freed(handle);
  release_lock();
}

__attribute__((noinline)) static void enter(struct span *span, uint32_t id, const word *arguments,
                                            enum binding binding) {
  const struct call *what = &calls[id];
  span->is_counted = is_recording && !(binding == BINDING_FORTRAN && table.library == MPICH);
  span->is_recorded = 0;
  // The functions of MPICH for mpif.h call those for C, which are recorded. Those of Open MPI
  // (ompi/mpi/fortran/mpif-h) and those without a buffer of MPICH for mpi_f08 call PMPI_*.
  if (!span->is_counted) return;
  span->is_recorded = !is_nested(span);
  thread.depth++;
  span->binding = binding;
  span->position = COMMUNICATOR_NONE;
  if (what->freed != 0) span->position = free_communicator(arguments[what->freed - 1], binding);
  if (!span->is_recorded) return;
  span->peer = PEER_NONE;
  span->bytes = span->communicator = 0;
  span->has_unknown = 0;
  span->waits = 0;
  span->freed_count = count_freed();
  span->transfer = transfer_of(what);
  span->is_collective = is_collective(what);
  if (what->comm != 0) find_place(span, what, arguments);
  if (what->requests != 0) {
    take_lock();
    find_requests(span, what, arguments);
    release_lock();
  }
  thread.stack = (word)span;
  thread.id = id;
  span->start = thread.start = now();
  count_waits_outside(span->start);
  show_call(span, id, span->transfer);
}

// Returns the source of a message: MPI_SOURCE is the first field of MPI_Status in Open MPI
// (ompi/include/mpi.h.in, struct ompi_status_public_t), and the third in MPICH
// (src/include/mpi.h.in, MPI_Status). MPI_STATUS_IGNORE is the address 0 in Open MPI, and 1 in
// MPICH. The value for Fortran is not known.
static int source_of(const struct span *span, word status) {
  if (status <= 1 || span->binding != BINDING_C) return PEER_NONE;
  return ((const int *)status)[table.library == MPICH ? 2 : 0];
}

#include "bytes.h"

// Adds a communicator to the table when it is created. What is known of its handle is about another
// one, which was freed by a call that the recorder has not seen.
static void add_created(const struct span *span, word place) {
  word handle = place == 0 ? 0 : handle_at(place, 0, span->binding, mpi.Comm_f2c);
  if (handle == 0 || handle == handles.null_communicator) return;
  take_lock();
  forget_communicator(handle);
  release_lock();
  position_of(handle);
}

// Adds the bytes of the partitions that the call makes ready.
static void add_partitions(struct span *span, const struct call *what, const word *arguments) {
  word argument = arguments[what->ready - 1];
  word handle = span->binding == BINDING_C ? to_handle(argument)
                                           : handle_at(argument, 0, span->binding, mpi.Request_f2c);
  int64_t count = 1;
  if (what->number != 0) count = integer(span, arguments[what->number - 1]);
  if (what->low != 0) {
    count = (int64_t)integer(span, arguments[what->high - 1]) -
            integer(span, arguments[what->low - 1]) + 1;
  }
  take_lock();
  const struct request *request = find_persistent(handle);
  if (request == NULL) {
    span->has_unknown = 1;
  } else {
    span->peer = request->peer;
    span->position = request->communicator;
    if (count > 0) span->bytes = (uint64_t)count * request->bytes;
  }
  release_lock();
}

// Adds a call that succeeded. Returns with the lock.
static void record(struct span *span, uint32_t id, const word *arguments, uint64_t end,
                   struct wait wait) {
  const struct call *what = &calls[id];
  if (what->ready != 0) add_partitions(span, what, arguments);
  if (span->communicator != 0 && !is_freed_since(span->freed_count, span->communicator)) {
    if (span->position >= MAX_COMMUNICATORS) span->position = position_of(span->communicator);
    uint8_t role = what->peer != 0 ? what->peer : what->root;
    int rank = role == 0 ? PEER_NONE : integer(span, arguments[role - 1]);
    if (role != 0 && rank < 0 && what->status != 0) rank = source_of(span, arguments[what->status - 1]);
    if (span->peer == PEER_NONE) span->peer = world_rank(span->position, span->communicator, rank);
  }
  uint64_t bytes = sent_bytes(span, what, arguments);
  int is_sent_later = what->persistent || what->partitioned;
  if (what->starts || what->ready != 0) bytes = span->bytes;
  if (what->created != 0) add_created(span, arguments[what->created - 1]);
  take_lock();
  add(id, span->position, span->peer, is_sent_later ? 0 : bytes, end - span->start, wait);
  if (what->request != 0 && arguments[what->request - 1] != 0) {
    store_request(what, (struct request){
      .request = handle_at(arguments[what->request - 1], 0, span->binding, mpi.Request_f2c),
      .bytes = bytes,
      .peer = span->peer,
      .communicator = span->position,
      .transfer = (uint8_t)transfer_of(what),
    });
  }
  if (what->requests != 0) keep_pending(span, what, arguments);
  table.uncounted += (uint32_t)span->has_unknown;
  if (what->waits && span->position < MAX_COMMUNICATORS) {
    struct communicator *known = &table.communicator[span->position];
    // The members of an intercommunicator wait for those of the other group.
    if (known->size > 1 && known->remote_size == 0) add_to_block(known, end - span->start);
  }
}

// Writes the table if it was not written for a second.
static void save_in_time(uint64_t time) {
  int is_due = time - last_save > SAVE_INTERVAL;
  if (is_due) save(time);
  release_lock();
  if (is_due) look_for_objects(AGAIN);
}

// Adds a call that failed. Its arguments may be invalid.
static void add_failed(uint32_t id, uint64_t start, uint64_t end, struct wait wait) {
  take_lock();
  add(id, COMMUNICATOR_NONE, PEER_NONE, 0, end - start, wait);
}

__attribute__((noinline)) static void leave(struct span *span, uint32_t id, const word *arguments,
                                            int error) {
  if (!span->is_counted) return;
  if (span->is_recorded) {
    uint64_t end = now();
    hide_call(end);
    struct wait wait = count_waits(IN_CALL, span->start, end);
    thread.left = end;
    if (error == 0) record(span, id, arguments, end, wait);
    else add_failed(id, span->start, end, wait);
    correct_collectives(span, error, end);
    save_in_time(end);
  }
  if (calls[id].freed != 0 && error == 0 && span->position < MAX_COMMUNICATORS) {
    take_lock();
    show_communicator(span->position);
    release_lock();
  }
  if (thread.depth > 0) thread.depth--;
}

// Adds the outermost call of this thread, which does not return.
static void leave_outermost(void) {
  uint64_t end = now();
  if (!is_recording) return;
  hide_call(end);
  struct wait wait = count_waits(IN_CALL, thread.start, end);
  thread.left = end;
  add_failed(thread.id, thread.start, end, wait);
  save_in_time(end);
}

// Called before longjmp and setcontext. They usually leave all calls of MPI in which the thread is,
// such as from an error handler.
static void leave_by_jump(void) {
  if (thread.depth == 0) return;
  thread.depth = 0;
  leave_outermost();
}

enum { UNWIND_CLEANUP = 2, UNWIND_CONTINUE = 8 };

// The personality routine of the wrappers: the unwinder calls it for each wrapper that an exception
// of C++ or another language leaves (Itanium C++ ABI, "Exception Handling", 1.6).
__attribute__((used, visibility("hidden"))) int leave_by_exception(int version, int actions,
                                                                   uint64_t kind, void *exception,
                                                                   void *context) {
  (void)version, (void)kind, (void)exception, (void)context;
  if ((actions & UNWIND_CLEANUP) && thread.depth > 0 && --thread.depth == 0) leave_outermost();
  return UNWIND_CONTINUE;
}
