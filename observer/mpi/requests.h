// The requests that were not completed yet, with the peers and communicators of their calls.
//
// A request is forgotten when a call completes or frees it, because its handle may then stand for
// another one. The bytes of a request are counted each time that it is started, so the bytes of one
// that the recorder does not know are not counted.

#pragma once

#include "rows.h"

// Returns the place of a request in a set: its own one, or the one that was not used for longest.
static struct request *place_in(struct request *set, word request) {
  struct request *oldest = set;
  for (uint32_t way = 0; way < REQUEST_WAYS; way++) {
    if (set[way].request == request) return &set[way];
    if (set[way].age < oldest->age) oldest = &set[way];
  }
  return oldest;
}

// Remembers a request until it is completed or freed, a later one has the same handle, or the table
// has no room for both.
static void store_request(const struct call *what, struct request new) {
  if (new.request == 0 || new.request == handles.null_request) return;
  int is_persistent = what->persistent || what->partitioned;
  struct request *set = is_persistent ? persistent[mix(new.request) % PERSISTENT_SETS]
                                      : requests[mix(new.request) % REQUEST_SETS];
  new.age = ++request_count;
  new.is_partitioned = what->partitioned;
  *place_in(set, new.request) = new;
  // The handle of a persistent request that was freed.
  if (is_persistent) return;
  struct request *freed = place_in(persistent[mix(new.request) % PERSISTENT_SETS], new.request);
  if (freed->request == new.request) *freed = (struct request){0};
}

static struct request *find_persistent(word request) {
  struct request *found = place_in(persistent[mix(request) % PERSISTENT_SETS], request);
  return found->request == request ? found : NULL;
}

static struct request *find_other(word request) {
  struct request *found = place_in(requests[mix(request) % REQUEST_SETS], request);
  return found->request == request ? found : NULL;
}

static void forget_request(word request) {
  if (request == 0 || request == handles.null_request) return;
  struct request *found[] = {find_persistent(request), find_other(request)};
  for (size_t at = 0; at < sizeof found / sizeof *found; at++) {
    if (found[at] != NULL) *found[at] = (struct request){0};
  }
}

struct span {
  uint64_t start;
  // The peer and the communicator of the requests, if they all have the same, and the bytes that
  // they send if they are started.
  int32_t peer;
  uint32_t position;
  uint64_t bytes;
  // Whether some of them are to be started and are not known.
  int has_unknown;
  // The number of a call that may complete requests; 0 if none of them is known.
  uint32_t waits;
  // The communicator; 0 if none. It is read before the call, because a program in Fortran may have
  // the new communicator written to the same variable.
  word communicator;
  // How many handles had been freed before the call.
  uint64_t freed_count;
  // What the requests of the call wait for, and the number of a collective call that is shown.
  enum transfer transfer;
  uint64_t number;
  int is_collective;
  enum binding binding;
  // Whether the call counts in the depth, and whether it is recorded.
  int is_counted, is_recorded;
};

// Returns the number of requests of a call, and 0 if their array is missing.
static int count_requests(const struct span *span, const struct call *what, const word *arguments) {
  if (arguments[what->requests - 1] == 0) return 0;
  if (what->number == 0) return 1;
  word number = arguments[what->number - 1];
  if (span->binding == BINDING_C) return (int)number;
  return number == 0 ? 0 : *(const int *)number;
}

// Returns a request of a call; 0 if it is MPI_REQUEST_NULL.
static word request_at(const struct span *span, const struct call *what, const word *arguments,
                       int at) {
  word all = arguments[what->requests - 1];
  word handle = handle_at(all, (size_t)at, span->binding, mpi.Request_f2c);
  return handle == handles.null_request ? 0 : handle;
}

// Finds a request that the call may complete, and forgets it unless it is pending after the call.
static const struct request *wait_for(struct span *span, word handle) {
  static uint32_t last;
  struct request *request = find_other(handle);
  if (request == NULL || request->waited != 0) return NULL;
  if (span->waits == 0) span->waits = ++last == 0 ? ++last : last;
  request->waited = span->waits;
  return request;
}

// Finds the peer and the communicator of requests before the call, which may set them to
// MPI_REQUEST_NULL. The function of the MPI library reports wrong arguments.
static void find_requests(struct span *span, const struct call *what, const word *arguments) {
  int count = count_requests(span, what, arguments), has_found = 0;
  for (int at = 0; at < count; at++) {
    word handle = request_at(span, what, arguments, at);
    if (handle == 0) continue;
    const struct request *request = find_persistent(handle);
    if (request == NULL && what->starts) span->has_unknown = 1;
    if (request == NULL && !what->starts) request = wait_for(span, handle);
    int32_t peer = request == NULL ? PEER_NONE : request->peer;
    uint32_t position = request == NULL ? COMMUNICATOR_NONE : request->communicator;
    if (!has_found) {
      span->peer = peer;
      span->position = position;
      has_found = 1;
    }
    if (span->peer != peer) span->peer = PEER_NONE;
    if (span->position != position) span->position = COMMUNICATOR_NONE;
    if (request != NULL) span->transfer |= request->transfer;
    if (request != NULL && !request->is_partitioned) span->bytes += request->bytes;
  }
}

// Keeps the requests that are still pending after a call that completes requests. The others were
// set to MPI_REQUEST_NULL.
static void keep_pending(const struct span *span, const struct call *what, const word *arguments) {
  int count = span->waits == 0 ? 0 : count_requests(span, what, arguments);
  for (int at = 0; at < count; at++) {
    word handle = request_at(span, what, arguments, at);
    struct request *request = handle == 0 ? NULL : find_other(handle);
    if (request != NULL && request->waited == span->waits) request->waited = 0;
  }
}
